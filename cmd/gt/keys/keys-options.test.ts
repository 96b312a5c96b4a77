import { expect, it } from "vitest";
import { givenTo, usageErrorOf } from "../../../test/support/bridge/gt-usage.ts";
import { keys } from "./keys.ts";
import { readKeys } from "./keys-options.ts";

const read = (argv: readonly string[]) => readKeys(givenTo(keys, argv), {});

it.each([
  [["toast", "Escape"], { keys: ["Escape"], text: "", requestId: "" }],
  [["toast", "C-c", "C-c"], { keys: ["C-c", "C-c"], text: "" }],
  [["toast", "--", "-"], { keys: ["-"], text: "" }],
  [["toast", "--text", "Enter", "--request-id", "k-1"], { keys: [], text: "Enter", requestId: "k-1" }],
])("reads %j", (argv, request) => {
  expect(read(argv)).toMatchObject({ agent: "toast", request });
});

it.each([
  [[], "which agent?"],
  [["toast"], "which keys?"],
  [["toast", "enter"], 'not a tmux key: "enter"'],
  [["toast", "Up", "--text", "x"], "give keys or --text, not both"],
  [["toast", "--text", ""], "--text is empty"],
])("refuses %j: %s", (argv, message) => {
  expect(usageErrorOf(() => read(argv))[0]).toBe(message);
});
