import type { Policy } from "./policy.ts";
import type * as t from "./types.ts";
import type { PlannedWake } from "./wake-plan.ts";
import type { WaitingThread } from "./wake-text.ts";

/** Selects threads, most recently changed first. `before`: the position of the last thread of the previous page. */
export interface ThreadQuery {
  /** The agent whose unread messages are counted. */
  readonly agent: string;
  /** Include threads in which the agent does not take part. */
  readonly all: boolean;
  readonly status?: readonly t.ThreadStatus[] | undefined;
  readonly unreadOnly?: boolean | undefined;
  readonly owner?: string | undefined;
  readonly limit: number;
  readonly before?: { readonly updatedAt: number; readonly threadId: string } | undefined;
}

export interface ListedThread {
  readonly thread: t.Thread;
  readonly unread: number;
}

export interface MessageQuery {
  readonly threadId: string;
  readonly afterSeq: number;
  readonly limit: number;
  readonly sender?: string | undefined;
  readonly eventType?: string | undefined;
}

export interface SearchQuery {
  /** Search only threads in which this agent takes part; absent: all. */
  readonly agent?: string | undefined;
  readonly query?: string | undefined;
  readonly threadId?: string | undefined;
  readonly sender?: string | undefined;
  readonly eventType?: string | undefined;
  readonly status?: t.ThreadStatus | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly limit: number;
  readonly before?: { readonly createdAt: number; readonly messageId: string } | undefined;
}

export interface StoredPost {
  readonly message: t.Message;
  readonly payloadHash: string;
}

export interface ChainReport {
  readonly checked: number;
  /** The first broken row of each chain. Without `threadId`, the chain is the audit trail. */
  readonly broken: readonly { readonly threadId?: string; readonly seq: number }[];
}

/** Queries on one workspace. */
export interface Reads {
  /** The database's time, ms. */
  now(): Promise<number>;
  policy(): Promise<Policy>;
  thread(threadId: string): Promise<t.Thread | undefined>;
  threadByKey(
    agent: string,
    key: string,
  ): Promise<{ readonly thread: t.Thread; readonly payloadHash: string } | undefined>;
  threads(query: ThreadQuery): Promise<readonly ListedThread[]>;
  participants(threadId: string): Promise<readonly t.Participant[]>;
  messages(query: MessageQuery): Promise<readonly t.Message[]>;
  lastMessages(threadId: string, count: number): Promise<readonly t.Message[]>;
  message(threadId: string, messageId: string): Promise<t.Message | undefined>;
  postByKey(threadId: string, sender: string, key: string): Promise<StoredPost | undefined>;
  /** The agent's unread messages in all its threads, oldest first. */
  inbox(agent: string, limit: number): Promise<readonly t.Message[]>;
  /**
   * The number of messages that are addressed to the agent and not acknowledged, without the agent's own and the
   * system's.
   */
  unread(threadId: string, agent: string): Promise<number>;
  unreadTotal(agent: string): Promise<number>;
  search(query: SearchQuery): Promise<readonly t.Message[]>;
  /** The hop of the newest message that the agent has been given and has not answered; undefined: there is none. */
  hopGiven(agent: string): Promise<number | undefined>;
  /** The threads with messages that the agent is to be woken for, newest message first; at most 100. */
  waiting(agent: string): Promise<readonly WaitingThread[]>;
  /** The participants that have not acknowledged a message addressed to them. */
  waitingIn(threadIds: readonly string[]): Promise<readonly t.Waiting[]>;
  /** Whether both take part in the same thread. */
  shareThread(agent: string, other: string): Promise<boolean>;
  /** Whether the agent has a wake that its next read or post acknowledges: one that was typed or is being delivered. */
  hasUnacknowledgedWake(agent: string): Promise<boolean>;
  session(sessionId: string): Promise<t.RuntimeSession | undefined>;
  sessions(): Promise<readonly t.RuntimeSession[]>;
  wakes(query: {
    readonly agent?: string | undefined;
    readonly threadId?: string | undefined;
    readonly limit: number;
  }): Promise<readonly t.Wake[]>;
  wake(wakeId: string): Promise<t.Wake | undefined>;
  /** Wakes that have not ended, and those with the ids in `also`, of one agent or of all agents. At most 1,000. */
  openWakes(also: readonly string[], agent?: string): Promise<readonly t.Wake[]>;
  attempts(wakeId: string): Promise<readonly t.WakeAttempt[]>;
  escalations(query: {
    readonly state?: t.EscalationState | undefined;
    readonly limit: number;
  }): Promise<readonly t.Escalation[]>;
  escalation(id: string): Promise<t.Escalation | undefined>;
  /** Escalations that are not resolved, and those with the ids in `also`. At most 1,000. */
  unresolvedEscalations(also: readonly string[]): Promise<readonly t.Escalation[]>;
  /**
   * Verifies every hash of the audit trail and of all threads. Reports the first broken row of each chain, at most 100.
   */
  verifyChains(): Promise<ChainReport>;
  auditEntries(query: { readonly afterSeq: number; readonly limit: number }): Promise<readonly t.AuditEntry[]>;
}

export interface WorkspaceThread {
  readonly workspace: string;
  readonly threadId: string;
}

export interface NewMessage extends Omit<t.Message, "seq" | "createdAt" | "erased"> {
  readonly idemKey?: string | undefined;
  readonly payloadHash?: string | undefined;
}

export interface NewEscalation {
  readonly escalationId: string;
  readonly threadId: string;
  readonly severity: t.Severity;
  readonly owner: string;
  readonly cause: string;
  readonly reason: string;
  readonly context: t.Metadata;
  readonly dueInMs: number;
}

export interface ThreadPatch {
  readonly status?: t.ThreadStatus | undefined;
  readonly statusReason?: string | undefined;
  readonly disputed?: boolean | undefined;
  readonly needsHumanDecision?: boolean | undefined;
  readonly owner?: string | undefined;
  readonly guard?: t.GuardState | undefined;
  readonly pausedUntil?: number | null | undefined;
}

/** One transaction. Rows are locked in the order thread, participants, message, wakes, workspace. */
export interface Tx extends Reads {
  /** Locks a thread until the transaction ends. `now`: the database's time, ms. Undefined: there is no such thread. */
  lockThread(threadId: string): Promise<{ readonly thread: t.Thread; readonly now: number } | undefined>;
  insertThread(
    thread: Pick<t.Thread, "threadId" | "title" | "owner" | "createdBy" | "metadata">,
    key?: { readonly idemKey: string; readonly payloadHash: string },
  ): Promise<void>;
  /** Changes a thread and increments its version. Returns the changed thread. */
  patchThread(threadId: string, patch: ThreadPatch): Promise<t.Thread>;
  /** Stores the loop guard's counters; the version stays the same. */
  saveGuard(threadId: string, guard: t.GuardState): Promise<void>;
  join(threadId: string, agentId: string, role: string): Promise<void>;
  leave(threadId: string, agentId: string): Promise<void>;
  setWake(threadId: string, agentId: string, wake: t.WakeSetting): Promise<void>;
  /** Appends a message with the next seq and hash. Locks the thread if this transaction has not locked it yet. */
  append(message: NewMessage): Promise<t.Message>;
  /** Raises `acked_seq` to `acked`, and `read_seq` to both; never lowers them. Returns the database's time, ms. */
  mark(
    threadId: string,
    agentId: string,
    to: { readonly read?: number; readonly acked?: number },
  ): Promise<number | undefined>;
  /**
   * Records a post of the agent: messages that it had been given count as answered, those that it had read as
   * acknowledged.
   */
  answered(threadId: string, agentId: string, hop: number): Promise<void>;
  offer(agentId: string, upto: Readonly<Record<string, number>>): Promise<void>;
  wantWakes(wakes: readonly PlannedWake[], reason: string): Promise<void>;
  /**
   * Records that the agent has acted: its SUBMITTED and UNKNOWN wakes become ACKED. A CLAIMED or QUEUED one becomes
   * ACKED when it ends, if its text had been typed by now.
   */
  acknowledgeWakes(agentId: string): Promise<void>;
  /** Records that people have been informed of these events of a wake. */
  wakeTold(wakeId: string, news: readonly t.WakeNews[]): Promise<void>;
  /**
   * Records that people are shown the messages that an agent has not acknowledged. False: the messages are not due to
   * be shown, or have been shown.
   */
  shown(threadId: string, agentId: string): Promise<boolean>;
  /**
   * Opens an escalation. If the thread has an unresolved one with the same cause, adds the reason to that one and
   * returns it.
   */
  escalate(escalation: NewEscalation): Promise<{ readonly escalation: t.Escalation; readonly isNew: boolean }>;
  setEscalation(id: string, state: t.EscalationState): Promise<void>;
  /** Marks an escalation as overdue and gives it another owner. */
  raiseEscalation(id: string, owner: string): Promise<void>;
  /**
   * Erases text and metadata of at most `limit` messages created before a time (wall clock, ms), oldest first. Returns
   * the number of messages.
   */
  eraseMessages(threadId: string, beforeMs: number, limit: number): Promise<number>;
  /** Appends to the audit trail. Locks the workspace, which is last in the order of locks. */
  audit(entry: Omit<t.AuditEntry, "seq" | "at">): Promise<void>;
  savePolicy(patch: t.Metadata): Promise<void>;
  revoke(kind: "jti" | "session", value: string, untilMs: number): Promise<void>;
  pause(
    what: { readonly agent: string | undefined; readonly threadId: string | undefined },
    untilMs: number | null,
  ): Promise<void>;
  setWakeState(wakeId: string, state: t.WakeState, outcome: string): Promise<void>;
}

export interface Store {
  reads(workspace: string): Reads;
  /**
   * Runs `work` in a transaction. After a conflict with another transaction it runs `work` again.
   * @throws DomainError `unavailable`, code UNAVAILABLE: the transaction may or may not have been committed
   */
  write<T>(workspace: string, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Records that the caller is known and its session is alive. Writes at most once a minute for each caller. */
  seen(caller: t.Principal): Promise<void>;
  /**
   * Records the id of the caller's conversation; for a managed session does nothing, because its runtime reports the
   * id.
   */
  conversation(caller: t.Principal, agentSessionId: string): Promise<void>;
  /** Open escalations of all workspaces that were not acknowledged in time. */
  overdueEscalations(limit: number): Promise<readonly (WorkspaceThread & { readonly escalationId: string })[]>;
  /** Wakes of all workspaces with events that people have not been informed of yet. */
  wakesWithNews(limit: number): Promise<readonly { readonly workspace: string; readonly wakeId: string }[]>;
  /** Participants of all workspaces whose unacknowledged messages are due to be shown to people. */
  unshown(limit: number): Promise<readonly (WorkspaceThread & { readonly agentId: string })[]>;
  /** Closed threads of all workspaces with messages that are not erased, least recently changed first. */
  closedThreads(limit: number): Promise<readonly WorkspaceThread[]>;
  /** Revoked tokens and sessions, each as `workspace kind value`; kind: `jti` or `session`. */
  revoked(): Promise<ReadonlySet<string>>;
}
