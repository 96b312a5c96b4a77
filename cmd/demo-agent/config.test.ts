import { expect, it } from "vitest";
import { parseFlags } from "../../internal/cli/flags.ts";
import { describeHelp } from "../../test/support/help-of.ts";
import { readConfig } from "./config.ts";
import { FLAGS } from "./flags.ts";
import { demoAgent } from "./program.ts";

const read = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  readConfig(parseFlags(FLAGS, argv, env), env);

it("reads faults with and without values", () => {
  const { options } = read(["--faults", "drop-first-enter,echo-delay=250,exit-on=a=b", "--faults", "exit-code=7"]);
  expect(options.faults).toMatchObject({ dropFirstEnter: true, echoDelayMs: 250, exitOn: "a=b", exitCode: 7 });
});

it("reads the hooks from the environment", () => {
  const { paths } = read(["--log", "l"], { GT_HOOK_FIFO: "/f", GT_HOOK_DIR: "" });
  expect(paths).toEqual({ log: "l", toolLog: undefined, hookFifo: "/f", hookDir: undefined });
});

it.each([
  [["--faults", "drop-first"], 'unknown fault "drop-first"'],
  [["--faults", "echo-delay"], "fault echo-delay needs =VALUE"],
  [["--faults", "garbage=1"], "fault garbage takes no =VALUE"],
  [["--faults", "echo-delay=soon"], 'fault echo-delay needs milliseconds, not "soon"'],
  [["--faults", "exit-code=300"], 'fault exit-code needs 0 to 255, not "300"'],
  [["--turn-ms", "-1"], "--turn-ms is at least 0, not -1"],
  [["hello"], 'unexpected argument "hello"'],
])("refuses %j", (argv, message) => {
  expect(() => read(argv)).toThrow(message);
});

await describeHelp(demoAgent);
