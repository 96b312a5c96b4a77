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

  it.for([
    [[], /a command is missing/],
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
