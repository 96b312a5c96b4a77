import { openFindings, truncateText } from "./digest.ts";
import type { Message, Metadata, Participant, Thread } from "./types.ts";

/** The most bytes of a context as JSON. */
const MAX_BYTES = 8 * 1024;
const MAX_PARTICIPANTS = 20;
const MAX_FINDINGS = 5;
const MAX_MESSAGES = 10;

/**
 * The context for deciding an escalation without reading the thread, at most 8 KiB as JSON: the newest `messages` and
 * open findings among them. If there is too much, it omits messages first, then participants, then findings.
 */
export function escalationContext(
  thread: Thread,
  participants: readonly Participant[],
  messages: readonly Message[],
  correlationId: string,
): Metadata {
  const { turns, freshFindings, times } = thread.guard;
  const last = messages
    .filter((one) => one.kind !== "system")
    .slice(-MAX_MESSAGES)
    .map(messageOf);
  const members = participants.slice(0, MAX_PARTICIPANTS).map(memberOf);
  const findings = openFindings(messages).slice(-MAX_FINDINGS).map(findingOf);
  const context = () => ({
    title: thread.title,
    status: thread.status,
    status_reason: truncateText(thread.statusReason, 400),
    disputed: thread.disputed,
    participants: members,
    open_findings: findings,
    last_messages: last,
    guard: { turns, fresh_findings: freshFindings, messages_last_hour: times.length },
    correlation_ids: [correlationId],
  });
  while (Buffer.byteLength(JSON.stringify(context())) > MAX_BYTES) {
    if (last.length > 1) last.shift();
    else if (members.length > 0) members.pop();
    else if (findings.length > 0) findings.shift();
    else if (last.length > 0) last.shift();
    else break;
  }
  return context();
}

function memberOf({ agentId, role }: Participant) {
  return { agent_id: agentId.slice(0, 64), role };
}

function findingOf({ messageId, seq, sender, text }: Message) {
  return { message_id: messageId, seq, sender, text: truncateText(text, 200) };
}

function messageOf({ seq, sender, eventType, text, createdAt }: Message) {
  return {
    ...{ seq, sender, text: truncateText(text, 400), created_at: new Date(createdAt).toISOString() },
    event_type: eventType,
  };
}
