import { FRESH_GUARD } from "../domain/loop-guard.ts";
import type * as t from "../domain/types.ts";

/** A row as `pg` returns it. */
type Row = Readonly<Record<string, unknown>>;

const text = (row: Row, name: string) => row[name] as string;
const int = (row: Row, name: string) => Number(row[name]);
const textOr = (row: Row, name: string) => (row[name] ?? undefined) as string | undefined;
const textsOr = (row: Row, name: string) => (row[name] ?? undefined) as string[] | undefined;
const intOr = (row: Row, name: string) => (row[name] == null ? undefined : int(row, name));
const bool = (row: Row, name: string) => row[name] === true;
const time = (row: Row, name: string) => (row[name] as Date).getTime();
const timeOr = (row: Row, name: string) => (row[name] == null ? undefined : time(row, name));

/** A time in a row, wall clock, ms. @throws Error if there is no row */
export function timeOf(row: Row | undefined, name: string): number {
  if (row === undefined) throw new Error("the database returned no row");
  return time(row, name);
}

export const MESSAGE_COLUMNS = [
  ...["thread_id", "seq", "message_id", "sender", "sender_role", "sender_kind", "sender_session", "kind", "event_type"],
  ...["event_version", "in_reply_to", "body", "metadata", "to_agents", "to_roles", "recipients", "urgency", "hop"],
  ...["erased_at", "created_at"],
]
  .map((name) => `m.${name}`)
  .join(", ");

export function messageOf(row: Row): t.Message {
  return {
    threadId: text(row, "thread_id"),
    seq: int(row, "seq"),
    messageId: text(row, "message_id"),
    sender: text(row, "sender"),
    senderRole: text(row, "sender_role"),
    senderKind: text(row, "sender_kind") as t.Message["senderKind"],
    senderSession: text(row, "sender_session"),
    kind: text(row, "kind") as t.MessageKind,
    text: text(row, "body"),
    urgency: text(row, "urgency") as t.Urgency,
    hop: int(row, "hop"),
    erased: row["erased_at"] != null,
    createdAt: time(row, "created_at"),
    eventType: textOr(row, "event_type"),
    eventVersion: intOr(row, "event_version"),
    inReplyTo: textOr(row, "in_reply_to"),
    metadata: (row["metadata"] ?? undefined) as t.Metadata | undefined,
    to: textsOr(row, "to_agents"),
    toRole: textsOr(row, "to_roles"),
    recipients: textsOr(row, "recipients"),
  };
}

export function threadOf(row: Row): t.Thread {
  return {
    threadId: text(row, "thread_id"),
    title: text(row, "title"),
    status: text(row, "status") as t.ThreadStatus,
    statusReason: text(row, "status_reason"),
    disputed: bool(row, "disputed"),
    needsHumanDecision: bool(row, "needs_human_decision"),
    owner: text(row, "owner"),
    createdBy: text(row, "created_by"),
    version: int(row, "version"),
    lastSeq: int(row, "last_seq"),
    headHash: text(row, "head_hash"),
    guard: { ...FRESH_GUARD, ...(row["guard"] as Partial<t.GuardState>) },
    metadata: row["metadata"] as t.Metadata,
    pausedUntil: timeOr(row, "paused_until"),
    createdAt: time(row, "created_at"),
    updatedAt: time(row, "updated_at"),
  };
}

export function participantOf(row: Row): t.Participant {
  return {
    agentId: text(row, "agent_id"),
    role: text(row, "role"),
    kind: text(row, "kind") as t.MemberKind,
    known: bool(row, "known"),
    wake: text(row, "wake") as t.WakeSetting,
    offeredSeq: int(row, "offered_seq"),
    readSeq: int(row, "read_seq"),
    ackedSeq: int(row, "acked_seq"),
    answeredSeq: int(row, "answered_seq"),
    lastHop: int(row, "last_hop"),
    againSeq: intOr(row, "again_seq"),
  };
}

export function wakeOf(row: Row): t.Wake {
  return {
    wakeId: text(row, "wake_id"),
    agentId: text(row, "agent_id"),
    state: text(row, "state") as t.WakeState,
    reason: text(row, "reason"),
    urgency: text(row, "urgency") as t.Urgency,
    force: row["force"] === true,
    dueAt: time(row, "due_at"),
    attempts: int(row, "attempts"),
    lastOutcome: text(row, "last_outcome"),
    blockedBy: text(row, "blocked_by"),
    blockedTitle: text(row, "blocked_title"),
    news: row["news"] as t.WakeNews[],
    deferredSince: timeOr(row, "deferred_since"),
    createdAt: time(row, "created_at"),
  };
}

export function waitingOf(row: Row): t.Waiting {
  const seq = int(row, "seq");
  return {
    ...{ threadId: text(row, "thread_id"), agentId: text(row, "agent_id"), count: int(row, "count"), seq },
    ...{ from: text(row, "sender"), since: time(row, "created_at"), given: int(row, "read_seq") >= seq },
  };
}

export function attemptOf(row: Row): t.WakeAttempt {
  return {
    wakeId: text(row, "wake_id"),
    attempt: int(row, "attempt"),
    kind: text(row, "kind") as t.WakeAttempt["kind"],
    requestId: text(row, "request_id"),
    sessionId: text(row, "session_id"),
    epoch: text(row, "epoch"),
    text: text(row, "text"),
    upto: row["upto"] as Record<string, number>,
    outcome: row["outcome"] == null ? undefined : text(row, "outcome"),
    evidence: row["evidence"] as unknown[],
    begunAt: time(row, "begun_at"),
    endedAt: timeOr(row, "ended_at"),
  };
}

export function escalationOf(row: Row): t.Escalation {
  return {
    escalationId: text(row, "escalation_id"),
    threadId: text(row, "thread_id"),
    state: text(row, "state") as t.EscalationState,
    severity: text(row, "severity") as t.Severity,
    owner: text(row, "owner"),
    cause: text(row, "cause"),
    reason: text(row, "reason"),
    context: row["context"] as t.Metadata,
    overdue: row["overdue"] === true,
    createdAt: time(row, "created_at"),
    dueAt: time(row, "due_at"),
  };
}

export function sessionOf(row: Row): t.RuntimeSession {
  return {
    sessionId: text(row, "session_id"),
    agentId: text(row, "agent_id"),
    runtime: text(row, "runtime") as t.RuntimeSession["runtime"],
    managed: bool(row, "managed"),
    state: text(row, "state") as t.RuntimeSession["state"],
    provider: text(row, "provider"),
    agentSessionId: text(row, "agent_session_id"),
    lastHeartbeatAt: time(row, "last_heartbeat_at"),
    resumes: int(row, "resumes"),
  };
}

export function auditOf(row: Row): t.AuditEntry {
  return {
    seq: int(row, "seq"),
    at: time(row, "at"),
    actor: text(row, "actor"),
    actorSession: text(row, "actor_session"),
    action: text(row, "action"),
    correlationId: text(row, "correlation_id"),
    detail: row["detail"] as t.Metadata,
    threadId: textOr(row, "thread_id"),
  };
}
