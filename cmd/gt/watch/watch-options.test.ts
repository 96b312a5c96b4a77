import { expect, it } from "vitest";
import { givenTo, usageErrorOf } from "../../../test/support/bridge/gt-usage.ts";
import { watch } from "./watch.ts";
import { readWatch } from "./watch-options.ts";

const read = (argv: readonly string[]) => readWatch(givenTo(watch, argv), {});

it("reads the interval as milliseconds", () => {
  expect(read(["toast", "--interval", "1s"])).toMatchObject({ agent: "toast", intervalMs: 1000 });
});

it.each([
  [[], "which agent?"],
  [["toast", "--interval", "1ms"], "--interval is between 10ms and 1m"],
  [["toast", "-n", "0"], "not a number of lines: 0 (1 to 100000)"],
])("refuses %j: %s", (argv, message) => {
  expect(usageErrorOf(() => read(argv))[0]).toBe(message);
});
