import { describe, expect, it } from "vitest";
import { findCall } from "../../internal/cli/command/find-call.ts";
import { describeHelp } from "../../test/support/help-of.ts";
import { readConfig } from "./config.ts";
import { gtController } from "./program.ts";

/** The command of a command line, with its flags and settings. */
async function read(argv: readonly string[], env: Readonly<Record<string, string>>) {
  const call = await findCall(gtController, argv, env);
  if (call.type !== "run") return { type: call.type };
  const { name } = call.command;
  const type = name === gtController.name ? "serve" : name;
  const { values } = call.given;
  return { type, values, ...readConfig(type === "serve" ? "" : type, call.given, env) };
}

describe("the command line of gt-controller", () => {
  it("reads the cluster from the pod's environment and uses the chart's names", async () => {
    const env = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443", GT_NAMESPACE: "town" };
    expect(await read(["init-ca", "--config", "c.yaml"], env)).toMatchObject({
      type: "init-ca",
      namespace: "town",
      release: "gastown",
      values: {},
      kubeconfig: undefined,
      apiServer: { host: "10.0.0.1", port: "443" },
    });
  });

  it("serves if no command is given, as the replica that the pod's name identifies", async () => {
    const env = { GT_CONTROLLER_CONFIG: "c.yaml", GT_POD_NAME: "gastown-0", KUBECONFIG: "k" };
    expect(await read([], env)).toMatchObject({
      type: "serve",
      podName: "gastown-0",
      kubeconfig: "k",
      configFile: "c.yaml",
    });
    expect(await read(["check", "--config", "d.yaml"], env)).toMatchObject({ type: "check", configFile: "d.yaml" });
  });

  it("only reports the progress of a CA replacement if --progress is given", async () => {
    const rotate = ["rotate-ca", "--config", "c.yaml"];
    expect(await read(rotate, {})).toMatchObject({ type: "rotate-ca", values: {} });
    expect(await read([...rotate, "--progress"], {})).toMatchObject({ type: "rotate-ca", values: { progress: true } });
  });

  it("takes the log level from the flag, and otherwise leaves it to the file", async () => {
    const serve = ["--config", "c.yaml"];
    expect(await read([...serve, "--log-level", "debug"], {})).toMatchObject({ type: "serve", logLevel: "debug" });
    expect(await read(serve, {})).toMatchObject({ type: "serve", logLevel: undefined });
  });

  it.for([
    [[], /--config FILE or a command is missing/],
    [["check"], /check needs --config/],
    [["init-c"], /unknown command "init-c"/],
    [["init-ca"], /init-ca needs --config/],
    [["uninstall", "--config", "c", "now"], /unexpected argument "now"/],
    [["uninstall", "--config", "c", "--timeout", "4"], /--timeout/],
    [["init-ca", "--config", "c", "--log-level", "loud"], /--log-level takes debug/],
  ] as const)("refuses %j", async ([argv, message]) => {
    await expect(read(argv, {})).rejects.toThrow(
      expect.objectContaining({ kind: "invalid", message: expect.stringMatching(message) }),
    );
  });
});

await describeHelp(gtController);
