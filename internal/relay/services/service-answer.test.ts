import { describe, expect, it } from "vitest";
import { answerOf } from "./service-answer.ts";
import { piecesOf } from "./service-replies.ts";

const part = (type: string, payload: object) => ({ id: "w", type, payload: payload as never });
const success = (text: string) => [part("result.success", { text })];

describe("the end of a prompt's answer", () => {
  it.each([
    ["an agent that does not stream", "", "all", "all"],
    ["one that has streamed its whole text", "all", "all", ""],
    ["one whose last update was lost", "al", "all", "l"],
    ["a bridge, whose answer has no white space at its end", "all\n\n", "all", ""],
  ])("contains the text of %s that was not shown", (_, shown, text, rest) => {
    expect(answerOf(success(text), shown)).toEqual({ rest, failure: undefined });
  });

  it.each([
    ["updates in the middle were lost", "a c", "a b c"],
    ["an earlier attempt was shown", "try 1: a", "try 2: a"],
  ])("contains the whole text, and says so, if %s", (_, shown, text) => {
    const { rest } = answerOf(success(text), shown);
    expect(rest).toMatch(/^\n\n\[relay: .*\]\n\n/);
    expect(rest.endsWith(`\n\n${text}`)).toBe(true);
  });

  it("names a failure, after the text so far", () => {
    const failed = part("result.failure", { error: "no", reason: "max_tokens", code: 3, data: { x: 1 } });
    expect(answerOf([part("result.partial", { text: "half" }), failed], "")).toEqual({
      rest: "half",
      failure: { message: "no", details: { reason: "max_tokens", code: 3, data: { x: 1 } } },
    });
    expect(answerOf([part("result.cancelled", { by: "ann" })], "").failure?.message).toContain("cancelled by ann");
  });

  it("is a failure when the agent waits for a tool of its coordinator", () => {
    const call = { tool_name: "bash", tool_id: "t1", input: {} };
    expect(answerOf([part("result.partial", { text: "I look" }), part("tool_use", call)], "")).toEqual({
      rest: "I look",
      failure: { message: expect.stringContaining("run bash"), details: { reason: "tool_use", calls: [call] } },
    });
  });
});

it("cuts a long text into pieces that are whole characters", () => {
  const text = `${"x".repeat(64 * 1024 - 1)}😀${"y".repeat(64 * 1024)}`;
  const pieces = piecesOf(text);
  expect(pieces.join("")).toBe(text);
  expect(pieces.every((piece) => piece.isWellFormed() && piece.length <= 64 * 1024)).toBe(true);
  expect(piecesOf("")).toEqual([]);
});
