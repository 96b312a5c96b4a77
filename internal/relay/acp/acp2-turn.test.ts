import { describe, expect, it } from "vitest";
import { afterAccepted, afterUpdate, answerOfAcp2, beginAcp2Turn, speaksVersion2, toolCallIn } from "./acp2-turn.ts";
import type { JsonObject } from "./json-text.ts";

const running = { sessionUpdate: "state_update", state: "running" };
const asks = { sessionUpdate: "state_update", state: "requires_action" };
const idle = (stopReason?: string) => ({ sessionUpdate: "state_update", state: "idle", stopReason });
const echo = { sessionUpdate: "user_message", messageId: "u" };
const chunk = (text: string, messageId = "m") => ({
  ...{ sessionUpdate: "agent_message_chunk", messageId, content: { type: "text", text } },
});
const whole = (text: string, messageId = "m") => ({
  ...{ sessionUpdate: "agent_message", messageId, content: [{ type: "text", text }] },
});
const notice = { sessionUpdate: "a_new_kind" };
const OK = "the response";
type Events = readonly (JsonObject | typeof OK)[];

function fold(events: Events, { wasBusy = false, maxBytes = 100 } = {}) {
  const start = beginAcp2Turn(wasBusy, maxBytes);
  return events.reduce((turn, event) => (event === OK ? afterAccepted(turn) : afterUpdate(turn, event)), start);
}

describe("a turn", () => {
  it.each<[string, Events]>([
    ["the usual order", [OK, echo, running, chunk("a"), idle("end_turn")]],
    ["running first, as during a hook", [running, OK, echo, chunk("a"), idle("end_turn")]],
    ["a response after the text", [running, echo, chunk("a"), OK, idle("end_turn")]],
    ["a response after the end", [running, echo, chunk("a"), idle("end_turn"), OK]],
    ["an end and a response without an echo", [running, chunk("a"), idle("end_turn"), OK]],
    ["no running at all", [OK, chunk("a"), idle("end_turn")]],
    ["an end without a reason", [OK, running, chunk("a"), idle()]],
    ["a question in between", [OK, running, asks, running, chunk("a"), idle("end_turn")]],
    ["an idle state repeated before the work", [OK, idle(), running, chunk("a"), idle("end_turn")]],
    ["updates after the end", [OK, running, chunk("a"), idle("end_turn"), running, chunk("b"), idle("refusal")]],
    ["a hook that ends before the prompt is accepted", [running, idle(), OK, running, chunk("a"), idle("end_turn")]],
  ])("ends once, with its text: %s", (_, events) => {
    const turn = fold(events);
    expect(turn.end).toBeDefined();
    expect(answerOfAcp2(turn)).toEqual([{ type: "result.success", payload: { text: "a", stop_reason: "end_turn" } }]);
  });

  it.each<[string, Events]>([
    ["accepted", [OK]],
    ["accepted and echoed", [OK, echo]],
    ["at work", [OK, running, chunk("a")]],
    ["waiting for a permission", [OK, running, asks]],
    ["idle before and after it was accepted", [idle(), OK, idle()]],
    ["not accepted", [running, echo, chunk("a"), idle("end_turn")]],
    ["in an unknown state", [OK, running, { sessionUpdate: "state_update", state: "_new" }]],
    ["at work again before it was accepted", [running, chunk("a"), idle(), running, OK]],
    ["updates of other kinds", [OK, notice]],
  ])("is open: %s", (_, events) => {
    expect(fold(events).end).toBeUndefined();
  });

  it("of an agent that was already working does not end when that work ends, and contains none of its text", () => {
    const before = [chunk("old"), idle("end_turn")];
    const events: Events = [...before, OK, echo, running, chunk("new"), idle("end_turn")];
    expect(fold([...before, OK], { wasBusy: true }).end).toBeUndefined();
    expect(answerOfAcp2(fold(events, { wasBusy: true }))).toMatchObject([{ payload: { text: "new" } }]);
    // The agent works on the prompt together with its earlier work: both end together.
    const together: Events = [chunk("old"), echo, OK, chunk("new"), idle("end_turn")];
    expect(answerOfAcp2(fold(together, { wasBusy: true }))).toMatchObject([{ payload: { text: "new" } }]);
  });
});

describe("an answer", () => {
  const ended = (stop: string, more = {}) => answerOfAcp2(fold([OK, running, chunk("a"), { ...idle(stop), ...more }]));

  it("contains each message once, in the order of their first parts", () => {
    const events: Events = [
      OK,
      running,
      chunk("a"),
      chunk("x", "n"),
      chunk("b"),
      whole("AB"),
      whole("y", "o"),
      chunk("z", "o"),
    ];
    const clears = { sessionUpdate: "agent_message", messageId: "n", content: null };
    expect(answerOfAcp2(fold([...events, idle()]))).toMatchObject([{ payload: { text: "ABxyz" } }]);
    expect(answerOfAcp2(fold([...events, clears, idle()]))).toMatchObject([{ payload: { text: "AByz" } }]);
  });

  it("reports why the agent stopped", () => {
    expect(ended("cancelled")).toEqual([{ type: "result.cancelled", payload: { by: "agent" } }]);
    expect(ended("max_tokens")).toMatchObject([{ type: "result.partial" }, { payload: { reason: "max_tokens" } }]);
    expect(ended("_new")).toMatchObject([{}, { type: "result.failure", payload: { reason: "_new" } }]);
    const error = { code: 7, message: "no model", data: { x: 1 } };
    expect(ended("error", { error })).toEqual([
      { type: "result.partial", payload: { text: "a" } },
      { type: "result.failure", payload: { error: "no model", code: 7, data: { x: 1 } } },
    ]);
    expect(ended("error")).toMatchObject([{}, { type: "result.failure", payload: { error: expect.any(String) } }]);
  });

  it("is a failure if it is too large, and its text is not kept", () => {
    const turn = fold([OK, running, chunk("x".repeat(60)), chunk("x".repeat(60), "n"), idle("end_turn")]);
    expect(turn.messages.size).toBe(0);
    expect(answerOfAcp2(turn)).toMatchObject([{ type: "result.failure", payload: { reason: "too_large" } }]);
  });
});

it("asks for a permission with the request's title, and the tool call or other subject", () => {
  const toolCall = { toolCallId: "t", kind: "edit", title: "Edit" };
  const subject = { type: "tool_call", toolCall };
  expect(toolCallIn({ title: "May I?", subject })).toEqual({ ...toolCall, title: "May I?" });
  const command = { type: "command", command: "ls" };
  expect(toolCallIn({ title: "Run", description: "why", subject: command })).toEqual({
    ...{ title: "Run", description: "why", subject: command },
  });
  expect(toolCallIn({ title: "Go", subject: null })).toEqual({ title: "Go" });
});

it("recognises an agent of version 2 with sessions", () => {
  const capabilities = { session: {} };
  expect(speaksVersion2({ protocolVersion: 2, capabilities })).toBe(true);
  const others = [{ protocolVersion: 1, agentCapabilities: {} }, { protocolVersion: 2, capabilities: {} }, null, "2"];
  expect(others.map((each) => speaksVersion2(each as never))).toEqual([false, false, false, false]);
});
