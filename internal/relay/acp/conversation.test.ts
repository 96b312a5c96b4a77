import { describe, expect, it } from "vitest";
import { boundConversation, messagesOf } from "./conversation.ts";

const said = (text: string) => ({ user: [{ role: "user", content: text }], assistant: `re ${text}` });
const toolAnswered = {
  user: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "x" }] }],
  assistant: "ok",
};

describe("a conversation", () => {
  it("contains the texts of user and assistant in turn, without failed answers", () => {
    expect(messagesOf([said("a"), { user: said("b").user, assistant: undefined }])).toEqual([
      { role: "user", content: "a" },
      { role: "assistant", content: "re a" },
      { role: "user", content: "b" },
    ]);
  });

  it("drops its oldest exchanges first, completely", () => {
    const all = [said("a"), said("b"), said("c")];
    const bytes = Buffer.byteLength(JSON.stringify(all[0]));
    expect(boundConversation(all, 2 * bytes)).toEqual({ exchanges: all.slice(1), left: 1 });
    expect(boundConversation(all, 3 * bytes).left).toBe(0);
  });

  it("never keeps a tool's result without the tool's use", () => {
    const all = [said("a"), toolAnswered, toolAnswered, said("d")];
    const bytes = all.slice(1).reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one)), 0);
    expect(boundConversation(all, bytes)).toEqual({ exchanges: [said("d")], left: 3 });
  });

  it("keeps its last exchange, however large it is", () => {
    expect(boundConversation([said("a".repeat(100))], 10).left).toBe(0);
  });
});
