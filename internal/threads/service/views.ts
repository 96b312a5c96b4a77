import { isoTime } from "../../base/text/iso-time.ts";
import type {
  AuditEntry,
  Escalation,
  Message,
  Participant,
  RuntimeSession,
  Thread,
  Waiting,
  Wake,
  WakeAttempt,
} from "../domain/types.ts";
import type { WireMessage, WireParticipant, WireThread, WireWaiting, WireWake } from "./wire.ts";

/** The version of a message's shape; raised when a reader of the older shape would misread a message. */
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

export function wakeView(wake: Wake): WireWake {
  return {
    wake_id: wake.wakeId,
    agent_id: wake.agentId,
    state: wake.state,
    reason: wake.reason,
    urgency: wake.urgency,
    attempts: wake.attempts,
    outcome: wake.lastOutcome,
    blocked_by: wake.blockedBy,
    ...(wake.blockedTitle !== "" && { blocked_title: wake.blockedTitle }),
    created_at: isoTime(wake.createdAt),
    due_at: isoTime(wake.dueAt),
  };
}

export function waitingView({ agentId, count, from, seq, since, given }: Waiting): WireWaiting {
  return { agent_id: agentId, count, from, seq, since: isoTime(since), given };
}

export function attemptView(one: WakeAttempt) {
  return {
    ...{ attempt: one.attempt, kind: one.kind, request_id: one.requestId, session_id: one.sessionId, text: one.text },
    begun_at: isoTime(one.begunAt),
    ...(one.outcome !== undefined && { outcome: one.outcome }),
    ...(one.endedAt !== undefined && { ended_at: isoTime(one.endedAt) }),
  };
}

export function escalationView(one: Escalation) {
  return {
    ...{ escalation_id: one.escalationId, thread_id: one.threadId, state: one.state, severity: one.severity },
    ...{ owner: one.owner, cause: one.cause, reason: one.reason, context: one.context },
    ...{ created_at: isoTime(one.createdAt), due_at: isoTime(one.dueAt) },
  };
}

export function sessionView(one: RuntimeSession) {
  return {
    ...{
      session_id: one.sessionId,
      agent_id: one.agentId,
      runtime: one.runtime,
      managed: one.managed,
      state: one.state,
    },
    ...{ provider: one.provider, agent_session_id: one.agentSessionId },
    last_heartbeat_at: isoTime(one.lastHeartbeatAt),
  };
}

export function auditView(one: AuditEntry) {
  return {
    ...{ seq: one.seq, at: isoTime(one.at), actor: one.actor, actor_session: one.actorSession, action: one.action },
    ...{ correlation_id: one.correlationId, detail: one.detail },
    ...(one.threadId !== undefined && { thread_id: one.threadId }),
  };
}
