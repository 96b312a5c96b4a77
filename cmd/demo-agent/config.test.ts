import { expect, it } from "vitest";
import { readConfig } from "./config.ts";

it("reads faults with and without values", () => {
  const { options } = readConfig(
    ["--faults", "drop-first-enter,echo-delay=250,exit-on=a=b", "--faults", "exit-code=7"],
    {},
  );
  expect(options.faults).toMatchObject({ dropFirstEnter: true, echoDelayMs: 250, exitOn: "a=b", exitCode: 7 });
});

it("takes the hooks from the environment", () => {
  const { paths } = readConfig(["--log", "l"], { GT_HOOK_FIFO: "/f", GT_HOOK_DIR: "" });
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
  expect(() => readConfig(argv, {})).toThrow(message);
});
