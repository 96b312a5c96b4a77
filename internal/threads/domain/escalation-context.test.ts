import { expect, it } from "vitest";
import { escalationContext } from "./escalation-context.ts";
import { FRESH_GUARD } from "./loop-guard.ts";
import type { Message, Participant, Thread } from "./types.ts";

const thread: Thread = {
  ...{ threadId: "t-1", title: "review", status: "active", statusReason: "", disputed: true },
  ...{ needsHumanDecision: false, owner: "boss", createdBy: "a", version: 1, lastSeq: 9, headHash: "" },
  ...{ guard: FRESH_GUARD, metadata: {}, pausedUntil: undefined, createdAt: 0, updatedAt: 0 },
};
const messagesOf = (count: number, text: string, more: Partial<Message> = {}): readonly Message[] =>
  Array.from({ length: count }, (_, i) => ({
    ...{ threadId: "t-1", seq: i + 1, messageId: `m-${i + 1}`, sender: "a", senderRole: "worker", senderKind: "agent" },
    ...{ senderSession: "s", kind: "chat", text, urgency: "normal", hop: 0, erased: false, createdAt: 0, ...more },
  }));
const participantsOf = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    agentId: `agent-${i}-${"x".repeat(100)}`,
    role: "reviewer",
  })) as unknown as readonly Participant[];
const contextOf = (of: Partial<Thread>, participants: number, messages: readonly Message[]) =>
  escalationContext({ ...thread, ...of }, participantsOf(participants), messages, "c-1") as {
    readonly last_messages: readonly { readonly seq: number; readonly text: string }[];
    readonly participants: readonly unknown[];
    readonly open_findings: readonly unknown[];
  };

it("contains the newest ten messages, five open findings and twenty participants", () => {
  const found = contextOf({}, 30, messagesOf(12, "broken", { eventType: "finding_reported" }));
  expect(found.last_messages.map(({ seq }) => seq)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  expect([found.open_findings.length, found.participants.length]).toEqual([5, 20]);
});

it.each([
  ["long texts", {}, 20, messagesOf(10, "x".repeat(1000), { eventType: "finding_reported" })],
  ["texts that JSON escapes", {}, 20, messagesOf(10, "\u0001".repeat(1000), { eventType: "finding_reported" })],
  [
    "a title and a reason that JSON escapes",
    { title: "\u0001".repeat(200), statusReason: "\u0001".repeat(1000) },
    20,
    [],
  ],
] as const)("contains at most 8 KiB with %s, including the newest message", (_, of, participants, messages) => {
  const found = contextOf(of, participants, messages);
  expect(Buffer.byteLength(JSON.stringify(found))).toBeLessThanOrEqual(8 * 1024);
  expect(found.last_messages.at(-1)?.seq).toBe(messages.at(-1)?.seq);
});
