import { describe, expect, it } from "vitest";
import { readConfig } from "./config.ts";

describe("the command line of gt-controller", () => {
  it("takes the cluster from the pod's environment, and names as the chart has them", () => {
    const env = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443", GT_NAMESPACE: "town" };
    expect(readConfig(["init-ca", "--config", "c.yaml"], env)).toMatchObject({
      type: "init-ca",
      namespace: "town",
      release: "gastown",
      client: "admin",
      kubeconfig: undefined,
      apiServer: { host: "10.0.0.1", port: "443" },
    });
  });

  it("serves without a command, as the replica that the pod's name says", () => {
    const env = { GT_CONTROLLER_CONFIG: "c.yaml", GT_POD_NAME: "gastown-0", KUBECONFIG: "k" };
    expect(readConfig([], env)).toMatchObject({
      type: "serve",
      podName: "gastown-0",
      kubeconfig: "k",
      configFile: "c.yaml",
    });
    expect(readConfig(["check", "--config", "d.yaml"], env)).toMatchObject({ type: "check", configFile: "d.yaml" });
  });

  it("only reports of the CA's replacement where that is asked for", () => {
    const rotate = ["rotate-ca", "--config", "c.yaml"];
    expect(readConfig(rotate, {})).toMatchObject({ type: "rotate-ca", onlyReport: false });
    expect(readConfig([...rotate, "--progress"], {})).toMatchObject({ type: "rotate-ca", onlyReport: true });
  });

  it("has the log level of the flag, and without it none, so that the file's applies", () => {
    const serve = ["--config", "c.yaml"];
    expect(readConfig([...serve, "--log-level", "debug"], {})).toMatchObject({ type: "serve", logLevel: "debug" });
    expect(readConfig(serve, {})).toMatchObject({ type: "serve", logLevel: undefined });
  });

  it.for([
    [[], /--config FILE or a command is missing/],
    [["check"], /check needs --config/],
    [["init-c"], /unknown command "init-c"/],
    [["init-ca"], /init-ca needs --config/],
    [["uninstall", "--config", "c", "now"], /unexpected argument "now"/],
    [["uninstall", "--config", "c", "--timeout", "4"], /--timeout/],
    [["init-ca", "--config", "c", "--log-level", "loud"], /--log-level takes debug/],
  ] as const)("refuses %j", ([argv, message]) => {
    expect(() => readConfig(argv, {})).toThrow(
      expect.objectContaining({ kind: "invalid", message: expect.stringMatching(message) }),
    );
  });
});
