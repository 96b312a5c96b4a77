import type { Policy } from "./policy.ts";
import type * as t from "./types.ts";
import type { PlannedWake } from "./wake-plan.ts";
import type { WaitingThread } from "./wake-text.ts";

/** Which threads, newest change first; `before` is a position that an earlier answer gave. */
export interface ThreadQuery {
  /** Whose unread count. */
  readonly agent: string;
  /** Also threads in which the agent takes no part. */
  readonly all: boolean;
  readonly status?: readonly t.ThreadStatus[];
  readonly unreadOnly?: boolean;
  readonly owner?: string;
  readonly limit: number;
  readonly before?: { readonly updatedAt: number; readonly threadId: string };
}

export interface ListedThread {
  readonly thread: t.Thread;
  readonly unread: number;
}

export interface MessageQuery {
  readonly threadId: string;
  readonly afterSeq: number;
  readonly limit: number;
  readonly sender?: string;
  readonly eventType?: string;
}

export interface SearchQuery {
  /** Whose threads; absent: all. */
  readonly agent?: string;
  readonly query?: string;
  readonly threadId?: string;
  readonly sender?: string;
  readonly eventType?: string;
  readonly status?: t.ThreadStatus;
  readonly since?: number;
  readonly until?: number;
  readonly limit: number;
  readonly before?: { readonly createdAt: number; readonly messageId: string };
}

export interface StoredPost {
  readonly message: t.Message;
  readonly payloadHash: string;
}

export interface ChainReport {
  readonly checked: number;
  /** Without a thread: of the audit trail. */
  readonly broken: readonly { readonly threadId?: string; readonly seq: number }[];
}

/** What is read of one workspace. */
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
  /** Unread of an agent in all its threads, oldest first. */
  inbox(agent: string, limit: number): Promise<readonly t.Message[]>;
  /** Addressed to the agent, not its own, not acknowledged. */
  unread(threadId: string, agent: string): Promise<number>;
  unreadTotal(agent: string): Promise<number>;
  search(query: SearchQuery): Promise<readonly t.Message[]>;
  /** Hop of the newest message that the agent has been given and not answered. */
  hopGiven(agent: string): Promise<number | undefined>;
  /** What waits for a wake of the agent. */
  waiting(agent: string): Promise<readonly WaitingThread[]>;
  /** For whom threads wait: who has not acknowledged what is addressed to it. */
  waitingIn(threadIds: readonly string[]): Promise<readonly t.Waiting[]>;
  /** Both take part in a thread. */
  shareThread(agent: string, other: string): Promise<boolean>;
  /** A wake of the agent was submitted or is in work: its sign of life counts. */
  isAwaited(agent: string): Promise<boolean>;
  session(sessionId: string): Promise<t.Session | undefined>;
  sessions(): Promise<readonly t.Session[]>;
  wakes(query: {
    readonly agent?: string;
    readonly threadId?: string;
    readonly limit: number;
  }): Promise<readonly t.Wake[]>;
  wake(wakeId: string): Promise<t.Wake | undefined>;
  /** Wakes that have not ended, and these ones; of one agent or of all. At most 1,000. */
  wakesInWork(also: readonly string[], agent?: string): Promise<readonly t.Wake[]>;
  attempts(wakeId: string): Promise<readonly t.WakeAttempt[]>;
  escalations(query: { readonly state?: t.EscalationState; readonly limit: number }): Promise<readonly t.Escalation[]>;
  escalation(id: string): Promise<t.Escalation | undefined>;
  /** Escalations that are not resolved, and these ones. At most 1,000. */
  escalationsInWork(also: readonly string[]): Promise<readonly t.Escalation[]>;
  /** Looks at every hash of the audit trail and of every thread; at most 100 broken ones, the first of each chain. */
  verifyChains(): Promise<ChainReport>;
  auditEntries(query: { readonly afterSeq: number; readonly limit: number }): Promise<readonly t.AuditEntry[]>;
}

export interface WorkspaceThread {
  readonly workspace: string;
  readonly threadId: string;
}

export interface NewMessage extends Omit<t.Message, "seq" | "createdAt" | "erased"> {
  readonly idemKey?: string;
  readonly payloadHash?: string;
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
  readonly status?: t.ThreadStatus;
  readonly statusReason?: string;
  readonly disputed?: boolean;
  readonly needsHumanDecision?: boolean;
  readonly owner?: string;
  readonly guard?: t.GuardState;
  readonly pausedUntil?: number | null;
}

/** One transaction. Rows are locked in the order thread, participants, message, wakes, workspace. */
export interface Tx extends Reads {
  /** The thread, locked to the transaction's end, and the database's time. */
  lockThread(threadId: string): Promise<{ readonly thread: t.Thread; readonly now: number } | undefined>;
  insertThread(
    thread: Pick<t.Thread, "threadId" | "title" | "owner" | "createdBy" | "metadata">,
    key?: { readonly idemKey: string; readonly payloadHash: string },
  ): Promise<void>;
  /** Raises the version; answers with the thread as it is then. */
  patchThread(threadId: string, patch: ThreadPatch): Promise<t.Thread>;
  /** Keeps the guard's counters; the version stays. */
  saveGuard(threadId: string, guard: t.GuardState): Promise<void>;
  join(threadId: string, agentId: string, role: string): Promise<void>;
  leave(threadId: string, agentId: string): Promise<void>;
  setWake(threadId: string, agentId: string, wake: t.WakeSetting): Promise<void>;
  /** Appends with the next seq and hash. The thread is locked. */
  append(message: NewMessage): Promise<t.Message>;
  /** Moves `read_seq`, and `acked_seq` with `acked`; never back. Answers with the database's time. */
  mark(
    threadId: string,
    agentId: string,
    to: { readonly read?: number; readonly acked?: number },
  ): Promise<number | undefined>;
  /** The agent has posted: what it had been given is answered and acknowledged. */
  answered(threadId: string, agentId: string, hop: number): Promise<void>;
  offer(agentId: string, upto: Readonly<Record<string, number>>): Promise<void>;
  wantWakes(wakes: readonly PlannedWake[], reason: string): Promise<void>;
  /** After a sign of life: an agent's wakes that were submitted, and the one in work if it is typed by now. */
  acknowledgeWakes(agentId: string): Promise<void>;
  /** Notes that people have been informed of these events of a wake. */
  wakeTold(wakeId: string, news: readonly t.WakeNews[]): Promise<void>;
  /** Messages that an agent does not acknowledge are shown to people now. False: they have been, or are not to be. */
  shown(threadId: string, agentId: string): Promise<boolean>;
  /** One open escalation per thread and cause: a second joins it. Answers with the one there is. */
  escalate(escalation: NewEscalation): Promise<{ readonly escalation: t.Escalation; readonly isNew: boolean }>;
  setEscalation(id: string, state: t.EscalationState): Promise<void>;
  /** It is overdue and has another owner. */
  raiseEscalation(id: string, owner: string): Promise<void>;
  /** Erases texts and metadata of messages created before a time, at most `limit`; answers with how many. */
  eraseMessages(threadId: string, beforeMs: number, limit: number): Promise<number>;
  /** To be called last. */
  audit(entry: Omit<t.AuditEntry, "seq" | "at">): Promise<void>;
  savePolicy(patch: t.Metadata): Promise<void>;
  revoke(kind: "jti" | "session", value: string, untilMs: number): Promise<void>;
  pause(what: { readonly agent?: string; readonly threadId?: string }, untilMs: number | null): Promise<void>;
  setWakeState(wakeId: string, state: t.WakeState, outcome: string): Promise<void>;
}

export interface Store {
  reads(workspace: string): Reads;
  /**
   * Commits what `work` does, all or nothing; tried again where the database says that another transaction was in the
   * way. @throws DomainError `unavailable`, code UNAVAILABLE: it may or may not have been committed
   */
  write<T>(workspace: string, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Notes that an agent called: it is known, and its session lives. Bounded to one write a minute for each. */
  seen(caller: t.Caller): Promise<void>;
  /** Open escalations of all workspaces that were not acknowledged in time. */
  overdueEscalations(limit: number): Promise<readonly (WorkspaceThread & { readonly escalationId: string })[]>;
  /** Wakes of all workspaces with events that people are to be informed of. */
  wakesWithNews(limit: number): Promise<readonly { readonly workspace: string; readonly wakeId: string }[]>;
  /** Agents of all workspaces that were reminded twice, which people have not been shown yet. */
  unshown(limit: number): Promise<readonly (WorkspaceThread & { readonly agentId: string })[]>;
  /** Closed threads of all workspaces with messages that are not erased, the oldest first. */
  closedThreads(limit: number): Promise<readonly WorkspaceThread[]>;
  /** Tokens and sessions that no longer count: `workspace kind value`. */
  revoked(): Promise<ReadonlySet<string>>;
}
