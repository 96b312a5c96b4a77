import { describe, expect, it } from "vitest";
import { answerOfPrompt, chunkText, promptBlocks, speaksVersion1 } from "./acp-turn.ts";

const work = (type: string, payload: Record<string, never> | object) =>
  ({ id: "1", hash: "h", type, payload }) as never;

it.each<[string, object, object[]]>([
  ["work.coding", { task: "Do it", requirements: ["well"] }, [{ type: "text", text: "Do it. Requirements: well" }]],
  ["work.coding", { prompt: [{ type: "image", data: "x" }] }, [{ type: "image", data: "x" }]],
  ["work.coding", { messages: [{ role: "user", content: "hi" }] }, [{ type: "text", text: "hi" }]],
  ["tool_result", { tool_id: "t", content: { a: 1 } }, [{ type: "text", text: '{"a":1}' }]],
])("makes a prompt of %s %j", (type, payload, blocks) => {
  expect(promptBlocks(work(type, payload))).toEqual(blocks);
});

it("reads the answer's text from message chunks only", () => {
  const chunk = (kind: string) => ({ sessionUpdate: kind, content: { type: "text", text: "x" } });
  expect(chunkText(chunk("agent_message_chunk"))).toBe("x");
  expect(chunkText(chunk("agent_thought_chunk"))).toBeUndefined();
});

it("recognises an agent of another version", () => {
  const agents = [{ protocolVersion: 1 }, {}, null, { protocolVersion: 2 }, { protocolVersion: "1" }];
  expect(agents.map(speaksVersion1)).toEqual([true, true, true, false, false]);
});

describe("the end of a turn", () => {
  it.each<[string, string, object[]]>([
    ["end_turn", "done", [{ type: "result.success", payload: { text: "done", stop_reason: "end_turn" } }]],
    ["cancelled", "half", [{ type: "result.cancelled", payload: { by: "agent" } }]],
    ["refusal", "", [{ type: "result.failure", payload: { error: "the agent stopped: refusal", reason: "refusal" } }]],
  ])("%s after %j", (stopReason, text, parts) => {
    expect(answerOfPrompt({ stopReason }, text)).toEqual(parts);
  });

  it("without a reason is a fault of the agent", () => {
    expect(answerOfPrompt(null, "")).toMatchObject([{ payload: { reason: "agent_protocol" } }]);
  });
});
