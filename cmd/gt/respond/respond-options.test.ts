import { expect, it } from "vitest";
import { givenTo, usageErrorOf } from "../../../test/support/bridge/gt-usage.ts";
import { respond } from "./respond.ts";
import { readRespond } from "./respond-options.ts";

const read = (argv: readonly string[]) => readRespond(givenTo(respond, argv), {});

it.each([
  [["toast"], { agent: "toast", json: false }],
  [["toast", "yes", "--request-id", "r-1"], { choice: "yes", requestId: "r-1" }],
  [["toast", "--text", "staging", "--dialog-id", "d"], { text: "staging", dialogId: "d" }],
])("reads %j", (argv, expected) => {
  expect(read(argv)).toMatchObject(expected);
});

it.each([
  [[], "which agent?"],
  [["toast", "yes", "no"], 'too many arguments: "no"'],
  [["toast", "yes", "--request-id", "a b"], "--request-id takes 1 to 128 letters, digits, dots, dashes or underscores"],
  [["toast", "--request-id", "r-1"], "--request-id is for an answer: give a choice or --text"],
])("refuses %j: %s", (argv, message) => {
  expect(usageErrorOf(() => read(argv))[0]).toBe(message);
});
