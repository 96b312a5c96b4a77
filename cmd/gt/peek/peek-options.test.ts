import { expect, it } from "vitest";
import { givenTo, usageErrorOf } from "../../../test/support/bridge/gt-usage.ts";
import { peek } from "./peek.ts";
import { readPeek } from "./peek-options.ts";

const read = (argv: readonly string[]) => readPeek(givenTo(peek, argv), {});

it.each([
  [["toast"], { agent: "toast", lines: 100, all: false, follow: false }],
  [["toast", "5"], { lines: 5 }],
  [["toast", "5", "-n", "9"], { lines: 5 }],
  [["-n", "9", "toast"], { lines: 9 }],
  [["toast", "--all", "--ansi", "--json"], { all: true, ansi: true, json: true }],
  [["toast", "-f"], { follow: true }],
])("reads %j", (argv, expected) => {
  expect(read(argv)).toMatchObject(expected);
});

it.each([
  [[], "which agent?"],
  [["toast", "0"], 'not a number of lines: "0" (1 to 100000)'],
  [["toast", "-5"], "unknown flag -5"],
  [["toast", "-n", "-5"], "not a number of lines: -5 (1 to 100000)"],
  [["toast", "100001"], 'not a number of lines: "100001" (1 to 100000)'],
  [["toast", "five"], 'not a number of lines: "five" (1 to 100000)'],
  [["toast", "5", "6"], 'too many arguments: "6"'],
  [["toast", "5", "--all"], "give a number of lines or --all, not both"],
  [["toast", "-n", "5", "--all"], "give a number of lines or --all, not both"],
  [["toast", "--follow", "--json"], "--follow prints lines; gt watch --json streams JSON"],
  [["toast", "--follow", "--join"], "--follow does not take --join"],
  [["toast", "--follow", "--all"], "--follow does not take --all"],
])("refuses %j: %s", (argv, message) => {
  expect(usageErrorOf(() => read(argv))[0]).toBe(message);
});
