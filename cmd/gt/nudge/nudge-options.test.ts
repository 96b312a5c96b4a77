import { expect, it } from "vitest";
import { givenTo, usageErrorOf } from "../../../test/support/bridge/gt-usage.ts";
import { nudge } from "./nudge.ts";
import { checkSize, messageIn, readNudge } from "./nudge-options.ts";

const read = (argv: readonly string[], env: Record<string, string> = {}) => readNudge(givenTo(nudge, argv, env), env);

it.each([
  [["toast", "hello"], { message: "hello", mode: "wait-idle", priority: "normal", timeoutMs: 75_000, requestId: "" }],
  [["toast", "hello", "-m", "hi"], { message: "hi" }],
  [["toast", "--", "-n 5"], { message: "-n 5" }],
  [["toast", "-m", "-n 5"], { message: "-n 5" }],
  [
    ["toast", "x", "--mode", "queue", "--priority=urgent", "--timeout", "2s"],
    { mode: "queue", priority: "urgent", timeoutMs: 2000 },
  ],
  [["toast", "x", "-f", "--if-fresh", "--request-id", "a-1"], { force: true, ifFresh: true, requestId: "a-1" }],
])("reads %j", (argv, expected) => {
  expect(read(argv)).toMatchObject(expected);
});

it("has no message if stdin is to be read", () => {
  expect(read(["toast", "--stdin"]).message).toBeUndefined();
});

it("reads text from stdin without the line feeds at its end", () => {
  expect(messageIn(Buffer.from("grüße\n\r\n"))).toBe("grüße");
  expect(() => messageIn(Buffer.from([0x61, 0xff, 0x0a]))).toThrow("the message is not UTF-8");
  const cutWithinOne = Buffer.alloc(65_537, "ü");
  expect(() => checkSize(messageIn(cutWithinOne))).toThrow("at most 65536 are allowed");
});

it("names the sender: the role, or else user and machine", () => {
  const sender = (env: Record<string, string>) => read(["toast", "x"], env).sender;
  expect(sender({ GT_ROLE: "gastown/witness", USER: "ann" })).toBe("gastown/witness");
  expect(sender({ USER: "ann" })).toMatch(/^ann@./);
});

it.each([
  [["toast"], "no message"],
  [["toast", "x", "y"], 'too many arguments: "y"'],
  [["toast", "--stdin", "-m", "x"], "give --message or --stdin, not both"],
  [["toast", "x", "--stdin"], "give a message argument or --stdin, not both"],
  [["toast", "x", "--mode", "now"], '--mode takes wait-idle, immediate or queue, not "now"'],
  [["toast", "x", "--priority", "high"], '--priority takes normal or urgent, not "high"'],
  [["toast", "x", "--timeout", "11m"], "--timeout is between 1ms and 10m"],
  [["toast", "x", "--request-id", "a b"], "--request-id takes 1 to 128 letters, digits, dots, dashes or underscores"],
  [["toast", "x", "--request-id", ""], "--request-id is empty"],
])("refuses %j: %s", (argv, message) => {
  expect(usageErrorOf(() => read(argv))[0]).toBe(message);
});
