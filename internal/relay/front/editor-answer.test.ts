import { describe, expect, it } from "vitest";
import { answerOfResults } from "./editor-answer.ts";

const result = (type: string, payload: object) => ({ id: "w", type, payload }) as never;
const chunk = (text: string) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
const ended = (stopReason: string) => ({ result: { stopReason } });

describe("text that an editor has not seen", () => {
  const success = result("result.success", { text: "one two" });
  it.each([
    ["", [chunk("one two")]],
    ["one", [chunk(" two")]],
    ["one two", []],
    ["one two\n", []],
    ["another", []],
    [undefined, []],
  ])("after %j", (shown, updates) => {
    expect(answerOfResults([success], shown)).toEqual({ updates, response: ended("end_turn") });
  });
});

it("shows the tools that a coordinator must run, and the text beside them", () => {
  const tool = result("tool_use", { tool_name: "bash", tool_id: "t1", input: { command: "ls" } });
  const answer = answerOfResults([result("result.partial", { text: "I look" }), tool], "");
  const call = { toolCallId: "t1", title: "bash", kind: "other", status: "pending", rawInput: { command: "ls" } };
  expect(answer.updates).toEqual([chunk("I look"), { sessionUpdate: "tool_call", ...call }]);
  expect(answer.response).toEqual(ended("end_turn"));
});

it("names the missing parts of an answer", () => {
  const gaps = [{ first: 1, to: 4, reason: "evicted" }];
  const { response } = answerOfResults([result("result.success", { text: "", gaps })], "");
  expect(response).toEqual({ result: { stopReason: "end_turn", _meta: { relay: { gaps } } } });
});

it.each(["refusal", "max_tokens", "max_turn_requests"])("ends a turn with %s", (reason) => {
  const results = [result("result.partial", { text: "so far" }), result("result.failure", { error: "e", reason })];
  expect(answerOfResults(results, "so far")).toEqual({ updates: [], response: ended(reason) });
});

it("ends a cancelled turn, and reports a failed one as failed", () => {
  expect(answerOfResults([result("result.cancelled", { by: "ann" })], "").response).toEqual(ended("cancelled"));
  const failed = result("result.failure", { error: "not known", code: -32001, reason: "uncertain" });
  const error = { code: -32001, message: "not known", data: { reason: "uncertain" } };
  expect(answerOfResults([failed], "").response).toEqual({ error });
});
