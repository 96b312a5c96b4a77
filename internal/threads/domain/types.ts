export type ThreadStatus = "active" | "blocked" | "resolved" | "closed";
export type Urgency = "quiet" | "normal" | "urgent" | "interrupt";
export type MemberKind = "agent" | "person";
export type WakeSetting = "all" | "directed" | "never";
export type Severity = "low" | "medium" | "high";
export type Metadata = Readonly<Record<string, unknown>>;

/** The caller's identity, as its token proves it. */
export interface Principal {
  readonly workspace: string;
  readonly agent: string;
  readonly role: string;
  readonly kind: MemberKind;
  readonly session: string;
  /** When the token expires, wall clock, ms. */
  readonly expiresAt: number;
  /** The trace id of the call's `traceparent`, else a random id. */
  readonly correlationId: string;
}

/** The loop guard's counters of one thread; see `loop-guard.ts`. */
export interface GuardState {
  /** Agent messages since the last progress. */
  readonly turns: number;
  /** The number of findings that counted as progress because their fingerprint was new. */
  readonly freshFindings: number;
  readonly findings: Readonly<
    Record<string, { readonly cycles: number; readonly by: string; readonly answered: boolean }>
  >;
  /** Commits and refs that `fix_pushed` has named. */
  readonly refs: readonly string[];
  /** The last messages of agents: sender and hash of the normalised text. */
  readonly texts: readonly (readonly [sender: string, text: string])[];
  /** When agents posted within the last hour, ms. */
  readonly times: readonly number[];
  /** While the thread is blocked: the agent that blocked it, or `guard`. */
  readonly blockedBy?: string | undefined;
}

export interface Thread {
  readonly threadId: string;
  readonly title: string;
  readonly status: ThreadStatus;
  readonly statusReason: string;
  readonly disputed: boolean;
  readonly needsHumanDecision: boolean;
  readonly owner: string;
  readonly createdBy: string;
  readonly version: number;
  readonly lastSeq: number;
  /** Hex hash of the newest message; empty without messages. */
  readonly headHash: string;
  readonly guard: GuardState;
  readonly metadata: Metadata;
  readonly pausedUntil: number | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface Participant {
  readonly agentId: string;
  readonly role: string;
  readonly kind: MemberKind;
  /** The participant has called at least once. */
  readonly known: boolean;
  readonly wake: WakeSetting;
  readonly offeredSeq: number;
  readonly readSeq: number;
  readonly ackedSeq: number;
  /** During a reminder: messages after this seq count as not given, so the agent is woken for them again. */
  readonly againSeq?: number | undefined;
  /** The last seq that the agent had been given when it last posted. */
  readonly answeredSeq: number;
  readonly lastHop: number;
}

export type MessageKind = "chat" | "event" | "system";

export interface Message {
  readonly threadId: string;
  readonly seq: number;
  readonly messageId: string;
  readonly sender: string;
  readonly senderRole: string;
  readonly senderKind: MemberKind | "system";
  readonly senderSession: string;
  readonly kind: MessageKind;
  readonly eventType?: string | undefined;
  readonly eventVersion?: number | undefined;
  readonly inReplyTo?: string | undefined;
  /** Empty once erased. */
  readonly text: string;
  readonly metadata?: Metadata | undefined;
  readonly to?: readonly string[] | undefined;
  readonly toRole?: readonly string[] | undefined;
  /** Absent: all participants. */
  readonly recipients?: readonly string[] | undefined;
  readonly urgency: Urgency;
  readonly hop: number;
  readonly erased: boolean;
  readonly createdAt: number;
}

export type WakeState =
  | "PENDING"
  | "CLAIMED"
  | "QUEUED"
  | "DEFERRED"
  | "SUBMITTED"
  | "ACKED"
  | "UNKNOWN"
  | "FAILED"
  | "CANCELLED"
  | "EXPIRED";

/** The states of a wake that has not ended. */
export const OPEN_STATES: readonly WakeState[] = ["PENDING", "CLAIMED", "QUEUED", "DEFERRED"];

/** Reports whether the state is one of `OPEN_STATES`. */
export function isOpenWake(state: string): boolean {
  return OPEN_STATES.some((one) => one === state);
}

/** An event of a wake that people are informed of, once. */
export type WakeNews = "failed" | "deferred" | "dialog" | "fallback";

export interface Wake {
  readonly wakeId: string;
  readonly agentId: string;
  readonly state: WakeState;
  readonly reason: string;
  readonly urgency: Urgency;
  /** An operator has forced the wake, and no attempt has been made since. */
  readonly force: boolean;
  readonly dueAt: number;
  readonly attempts: number;
  readonly lastOutcome: string;
  readonly blockedBy: string;
  /** The title of the dialog that blocks the wake, as the terminal shows it; empty if no dialog blocks it. */
  readonly blockedTitle: string;
  /** When the present cause began to block the wake, wall clock, ms; undefined: nothing blocks it. */
  readonly deferredSince: number | undefined;
  /** Events that people have not been informed of yet. */
  readonly news: readonly WakeNews[];
  readonly createdAt: number;
}

/** A participant of a thread with messages that are addressed to it and that it has not acknowledged. */
export interface Waiting {
  readonly threadId: string;
  readonly agentId: string;
  /** The number of these messages. */
  readonly count: number;
  /** The sender of the newest of these messages. */
  readonly from: string;
  /** The seq of the newest of these messages. */
  readonly seq: number;
  /** When the newest of these messages was stored, wall clock, ms. */
  readonly since: number;
  /** The participant has been given all of these messages. */
  readonly given: boolean;
}

export interface WakeAttempt {
  readonly wakeId: string;
  readonly attempt: number;
  readonly kind: "live" | "resume" | "spawn";
  readonly requestId: string;
  readonly sessionId: string;
  readonly epoch: string;
  readonly text: string;
  readonly upto: Readonly<Record<string, number>>;
  readonly outcome: string | undefined;
  readonly evidence: readonly unknown[];
  readonly begunAt: number;
  readonly endedAt: number | undefined;
}

export type EscalationState = "open" | "acknowledged" | "resolved";

export interface Escalation {
  readonly escalationId: string;
  readonly threadId: string;
  readonly state: EscalationState;
  readonly severity: Severity;
  readonly owner: string;
  readonly cause: string;
  readonly reason: string;
  readonly context: Metadata;
  /** The escalation was passed to the operators because no one acknowledged it in time. */
  readonly overdue: boolean;
  readonly createdAt: number;
  readonly dueAt: number;
}

export interface RuntimeSession {
  readonly sessionId: string;
  readonly agentId: string;
  readonly runtime: "sidecar" | "bridge" | "none";
  readonly managed: boolean;
  readonly state: "live" | "stale" | "ended";
  readonly provider: string;
  readonly agentSessionId: string;
  readonly lastHeartbeatAt: number;
  readonly resumes: number;
}

export interface AuditEntry {
  readonly seq: number;
  readonly at: number;
  readonly actor: string;
  readonly actorSession: string;
  readonly action: string;
  readonly threadId?: string | undefined;
  readonly correlationId: string;
  readonly detail: Metadata;
}
