import { describe, expect, it } from "vitest";
import { findCall } from "../../internal/cli/command/find-call.ts";
import { describeHelp } from "../../test/support/help-of.ts";
import { type BridgeOptions, readConfig } from "./config.ts";
import { bridge } from "./program.ts";

type Env = Readonly<Record<string, string>>;

/** The command of a command line, with its options. */
async function read(argv: readonly string[], env: Env): Promise<{ type: string } & Partial<BridgeOptions>> {
  const call = await findCall(bridge, argv, env);
  if (call.type !== "run") return { type: call.type };
  return { type: call.command.name, ...readConfig("bridge", call.given, env) };
}

it("runs or checks the named file; --config takes precedence over the environment", async () => {
  expect(await read(["--config", "a.yaml"], { GT_BRIDGE_CONFIG: "b.yaml" })).toMatchObject({
    type: "bridge",
    configPath: "a.yaml",
  });
  const fromEnv = { GT_BRIDGE_CONFIG: "b.yaml" };
  expect(await read(["check"], fromEnv)).toMatchObject({ type: "check", configPath: "b.yaml" });
  expect(await read(["check", "-c", "a.yaml"], {})).toMatchObject({ type: "check", configPath: "a.yaml" });
  expect(await read(["-c", "a.yaml", "check"], {})).toMatchObject({ type: "check", configPath: "a.yaml" });
});

it.each([
  ["--help", "help"],
  ["--version", "version"],
  ["version", "version"],
])("answers %s without a configuration", async (word, type) => {
  expect(await read([word], {})).toEqual({ type });
});

describe("refuses", () => {
  it.each<[string, string[], string]>([
    ["no configuration", [], "--config FILE is missing"],
    ["an unknown word", ["serve", "-c", "x"], 'unexpected argument "serve"'],
    ["one argument too many", ["check", "a.yaml"], 'unexpected argument "a.yaml"'],
    ["an unknown flag", ["--insecure"], "unknown flag --insecure"],
  ])("%s", async (_, argv, words) => {
    await expect(read(argv, {})).rejects.toThrow(
      expect.objectContaining({ kind: "invalid", message: expect.stringContaining(words) }),
    );
  });
});

await describeHelp(bridge);
