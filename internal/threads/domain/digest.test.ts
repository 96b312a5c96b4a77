import { expect, it } from "vitest";
import { digestOf, openFindings, truncateText } from "./digest.ts";
import { FRESH_GUARD } from "./loop-guard.ts";
import type { Message, Thread } from "./types.ts";

let seq = 0;
const message = (more: Partial<Message> = {}): Message => ({
  ...{ threadId: "t-1", seq: ++seq, messageId: `m-${seq}`, sender: "a", senderRole: "worker", senderKind: "agent" },
  ...{ senderSession: "s", kind: "chat", text: "hello", urgency: "normal", hop: 0, erased: false, createdAt: 0 },
  ...more,
});
const thread: Thread = {
  ...{
    threadId: "t-1",
    title: "review",
    status: "active",
    statusReason: "",
    disputed: true,
    needsHumanDecision: false,
  },
  ...{ owner: "boss", createdBy: "a", version: 1, lastSeq: 9, headHash: "", guard: FRESH_GUARD, metadata: {} },
  ...{ pausedUntil: undefined, createdAt: 0, updatedAt: 0 },
};
const finding = (id: string) => message({ messageId: id, eventType: "finding_reported", text: `finding ${id}` });
const ids = (messages: readonly Message[]) => openFindings(messages).map((one) => one.messageId);

it.each([
  ["a fix that names it", message({ eventType: "fix_pushed", metadata: { commit: "c", fixes: ["m-a"] } }), ["m-b"]],
  ["a fix that answers it", message({ eventType: "fix_pushed", inReplyTo: "m-a", metadata: { ref: "r" } }), ["m-b"]],
  ["a resolution that answers it", message({ eventType: "resolved", inReplyTo: "m-b" }), ["m-a"]],
  ["a resolution of the whole thread", message({ eventType: "resolved" }), []],
  ["nothing else", message({ inReplyTo: "m-a", text: "fixed it, I think" }), ["m-a", "m-b"]],
])("FR-5: a finding is closed by %s", (_, after, wanted) => {
  expect(ids([finding("m-a"), finding("m-b"), after])).toEqual(wanted);
});

it("FR-7: a digest contains state, findings, decisions and the last messages within the requested number of bytes", () => {
  const messages = [
    finding("m-a"),
    message({ eventType: "decision", text: "we keep it" }),
    ...Array.from({ length: 200 }, (_, index) => message({ text: `talk ${index} ${"é".repeat(50)}` })),
  ];
  for (const max of [512, 4096, 16_384]) {
    const { text } = digestOf(thread, [{ agentId: "a", role: "fixer" }], messages, max);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max);
    expect(text).toContain("disputed");
    expect(text).toContain("finding m-a");
    expect(text).toContain("we keep it");
  }
  expect(digestOf(thread, [], messages, 4096).text).toContain("talk 199");
});

it("a text that is too long is cut between characters", () => {
  expect(truncateText("日本語", 9)).toBe("日本語");
  expect(truncateText("日本語x", 9)).toBe("日本…");
});
