import { expect, it } from "vitest";
import { givenTo, usageErrorOf } from "../../../test/support/bridge/gt-usage.ts";
import { attach } from "./attach.ts";
import { readAttach } from "./attach-options.ts";

const read = (argv: readonly string[]) => readAttach(givenTo(attach, argv), {});

it.each([
  [["toast"], { agent: "toast", readOnly: false, detachKeys: { text: "Ctrl-]" } }],
  [["toast", "-r", "--detach-keys", "ctrl-p,ctrl-q"], { readOnly: true, detachKeys: { text: "Ctrl-p Ctrl-q" } }],
])("reads %j", (argv, expected) => {
  expect(read(argv)).toMatchObject(expected);
});

it.each([
  [[], "which agent?", "gt attach --help shows its usage"],
  [
    ["toast", "--detach-keys", "escape"],
    'cannot detach with the keys "escape"',
    "write them as in ctrl-] or ctrl-p,ctrl-q",
  ],
])("refuses %j: %s", (argv, message, hint) => {
  expect(usageErrorOf(() => read(argv))).toEqual([message, hint]);
});
