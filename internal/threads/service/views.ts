import type { Message, Participant, Thread } from "../domain/types.ts";
import type { WireMessage, WireParticipant, WireThread } from "./wire.ts";

/** Of a message's own shape; raised when a reader of an older one would misread it. */
const SCHEMA_VERSION = 1;

export function threadView(thread: Thread, unread?: number): WireThread {
  return {
    thread_id: thread.threadId,
    title: thread.title,
    status: thread.status,
    status_reason: thread.statusReason,
    disputed: thread.disputed,
    needs_human_decision: thread.needsHumanDecision,
    owner: thread.owner,
    created_by: thread.createdBy,
    version: thread.version,
    last_seq: thread.lastSeq,
    created_at: isoTime(thread.createdAt),
    updated_at: isoTime(thread.updatedAt),
    ...(unread !== undefined && { unread_count: unread }),
  };
}

export function messageView(message: Message): WireMessage {
  const { eventType, eventVersion, metadata, to, toRole, recipients, inReplyTo } = message;
  return {
    message_id: message.messageId,
    thread_id: message.threadId,
    seq: message.seq,
    created_at: isoTime(message.createdAt),
    sender: {
      agent_id: message.sender,
      role: message.senderRole,
      kind: message.senderKind,
      session_id: message.senderSession,
    },
    kind: message.kind,
    text: message.text,
    ...(eventType !== undefined && { event_type: eventType }),
    ...(eventVersion !== undefined && { event_version: eventVersion }),
    schema_version: SCHEMA_VERSION,
    ...(metadata !== undefined && { metadata }),
    ...(to !== undefined && { to }),
    ...(toRole !== undefined && { to_role: toRole }),
    ...(recipients !== undefined && { recipients }),
    ...(inReplyTo !== undefined && { in_reply_to: inReplyTo }),
    urgency: message.urgency,
    hop: message.hop,
    ...(message.erased && { erased: true }),
  };
}

export function participantView(one: Participant): WireParticipant {
  return {
    agent_id: one.agentId,
    role: one.role,
    kind: one.kind,
    known: one.known,
    wake: one.wake,
    read_seq: one.readSeq,
    last_seen_seq: one.ackedSeq,
  };
}

/** RFC 3339 in UTC with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
