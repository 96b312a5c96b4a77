import { expect, it } from "vitest";
import { checkedNudge } from "./nudge-request.ts";
import type { NudgeRequest } from "./types.ts";

const request: NudgeRequest = {
  message: "hello",
  requestId: "",
  mode: "wait-idle",
  timeoutMs: 0,
  sender: "somebody",
  priority: "normal",
  ttlMs: 0,
};
const check = (part: Partial<NudgeRequest>) => checkedNudge({ ...request, ...part }, () => "made-here");

it.each([
  ["one byte", "x"],
  ["65,536 bytes", "x".repeat(65_536)],
  ["65,536 bytes of two-byte characters", "é".repeat(32_768)],
  ["65,536 bytes of four-byte characters", "🎉".repeat(16_384)],
])("accepts a message of %s", (_, message) => {
  expect(check({ message }).message).toBe(message);
});

it.each([
  ["empty", ""],
  ["65,537 bytes long", "x".repeat(65_537)],
  ["65,537 bytes long, though of fewer characters", `x${"é".repeat(32_768)}`],
  ["half of a surrogate pair", "a\ud83d"],
])("refuses a message that is %s", (_, message) => {
  expect(() => check({ message })).toThrow(expect.objectContaining({ kind: "invalid" }));
});

it("names the limit, and nothing of the message", () => {
  const long = `secret${"x".repeat(65_536)}`;
  expect(() => check({ message: long })).toThrow(
    expect.objectContaining({
      fields: { bytes: 65_542, limit: 65_536 },
      message: expect.not.stringContaining("secret"),
    }),
  );
});

it.each(["a", "A-z.0_9", "x".repeat(128)])("accepts the request id %s", (requestId) => {
  expect(check({ requestId }).requestId).toBe(requestId);
});

it.each(["a b", "a/b", "é", "x".repeat(129), "a\n", "%0"])("refuses the request id %j", (requestId) => {
  expect(() => check({ requestId })).toThrow(expect.objectContaining({ kind: "invalid" }));
});

it.each([
  ["generates a missing id", {}, { requestId: "made-here" }],
  ["uses a time-out of 75 s by default", {}, { timeoutMs: 75_000 }],
  ["uses a quiet time of 2 s by default", {}, { quietMs: 2000 }],
  ["allows a quiet time of ten minutes", { quietMs: 600_000 }, { quietMs: 600_000 }],
  ["allows 24 hours to live", { ttlMs: 86_400_000 }, { ttlMs: 86_400_000 }],
  ["allows a time-out of ten minutes", { timeoutMs: 600_000 }, { timeoutMs: 600_000 }],
  ["lets a message live 30 minutes", {}, { ttlMs: 1_800_000 }],
  ["lets an urgent one live two hours", { priority: "urgent" }, { ttlMs: 7_200_000 }],
  ["or as long as requested", { ttlMs: 5 }, { ttlMs: 5 }],
] as const)("%s", (_, part, filled) => {
  expect(check(part)).toMatchObject(filled);
});

it.each([
  { timeoutMs: 600_001 },
  { timeoutMs: -1 },
  { ttlMs: 86_400_001 },
  { ttlMs: -1 },
  { quietMs: 600_001 },
  { quietMs: -1 },
])("refuses %j", (part) => {
  expect(() => check(part)).toThrow(expect.objectContaining({ kind: "invalid" }));
});
