import { expect, it } from "vitest";
import { givenTo, usageErrorOf } from "../../../test/support/bridge/gt-usage.ts";
import { wait } from "./wait.ts";
import { readWait } from "./wait-options.ts";

const read = (argv: readonly string[]) => readWait(givenTo(wait, argv), {});

it("waits ten minutes by default", () => {
  expect(read(["toast", "--for", "done"])).toMatchObject({ agent: "toast", goal: "done", timeoutMs: 600_000 });
  expect(read(["toast", "--for", "idle", "--timeout", "90s"])).toMatchObject({ goal: "idle", timeoutMs: 90_000 });
});

it.each([
  [["--for", "idle"], "which agent?"],
  [["toast"], "for what? --for takes idle, done, dialog or dead"],
  [["toast", "--for", "busy"], '--for takes idle, done, dialog or dead, not "busy"'],
  [["toast", "nux", "--for", "idle"], 'too many arguments: "nux"'],
  [["toast", "--for", "idle", "--timeout", "0s"], "--timeout is between 1ms and 24h"],
  [["toast", "--for", "idle", "--timeout", "25h"], "--timeout is between 1ms and 24h"],
])("refuses %j: %s", (argv, message) => {
  expect(usageErrorOf(() => read(argv))[0]).toBe(message);
});
