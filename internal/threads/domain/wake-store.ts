import type { LastSession, RecoveryFacts, UnmanagedLife } from "./recovery.ts";
import type { ForgottenMessages } from "./reminder.ts";
import type { RuntimeKind, WakeReceipt } from "./runtimes.ts";
import type { DoubtfulWake } from "./second-look.ts";
import type { Wake, WakeAttempt, WakeNews, WakeState } from "./types.ts";
import type { Blocked } from "./wake-blocks.ts";

/** A wake that this process owns for as long as it renews its lease. */
export interface ClaimedWake {
  readonly workspace: string;
  readonly wake: Wake;
  /** The kind of runtime that has the agent; absent: no runtime has confirmed a session of the agent. */
  readonly kind?: RuntimeKind;
}

/** The agent that a wake is for. */
export interface WakeTarget {
  readonly workspace: string;
  readonly wake: Pick<Wake, "agentId">;
}

export interface AttemptIntent {
  readonly attempt: number;
  /** Absent: `live`. */
  readonly kind?: WakeAttempt["kind"];
  readonly requestId: string;
  readonly sessionId: string;
  readonly epoch: string;
  readonly text: string;
  readonly upto: Readonly<Record<string, number>>;
}

/** The result of work on a wake; see `AfterOutcome`. */
export interface WakeResult {
  readonly state: WakeState;
  readonly outcome: string;
  readonly againMs?: number | undefined;
  readonly blockedBy?: string | undefined;
  /** An event that people are to be informed of. */
  readonly news?: WakeNews | undefined;
  /** The attempt that ended with this result, and its receipt. */
  readonly attempt?: { readonly attempt: number; readonly receipt: AttemptEnd } | undefined;
  /** The wake was forced and met an obstacle that an operator cannot waive: it continues without force. */
  readonly collided?: boolean;
  /** By thread, the seq up to which messages now count as offered. */
  readonly offered?: Readonly<Record<string, number>> | undefined;
}

/** A wake's receipt, or the result of starting a session: `started` or `refused`. */
type AttemptEnd = Pick<WakeReceipt, "typedMs" | "evidence"> & {
  readonly outcome: string;
  readonly error?: string;
};

/** The last session of an agent that a bridge confirmed, and the recent attempts to restart agents. */
export interface RecentLife extends Pick<RecoveryFacts, "last" | "recentStarts" | "hourlySpawns"> {
  /** Undefined: the agent has never called without a runtime of ours. */
  readonly unmanaged: UnmanagedLife | undefined;
  /** The agent's role; empty: unknown. */
  readonly role: string;
}

/** The conversation that an agent, or its sidecar, has named. */
export interface NamedConversation {
  /** The id that the agent's program gave it. */
  readonly id: string;
  /** The role in the agent's last token; empty: the agent has never called. */
  readonly role: string;
  /** The agent has given no sign of life for `stale_after`. */
  readonly isStale: boolean;
  /** The agent has called or been confirmed within the last two minutes, other than in a turn that has ended. */
  readonly isRecent: boolean;
  /** A bridge has confirmed a session of the agent. */
  readonly isOfBridge: boolean;
  /** Turns without proof that began within the last 15 minutes. */
  readonly failures: number;
}

export interface ConfirmedSession extends Partial<Pick<LastSession, "repoPath" | "agentOpts" | "agentSessionId">> {
  readonly sessionId: string;
  readonly agent: string;
  readonly runtime: RuntimeKind;
  readonly provider: string;
}

/** The limit that defers a wake before its agent is looked up. */
export type WakeBound = "paused" | "rate" | undefined;

/** The queue of wakes, which all processes work on. A claim is a lease by the database's clock. */
export interface WakeStore {
  /**
   * Claims wakes that are due. Those whose agent only another kind of runtime has are left for 10 s to the processes
   * with that kind.
   */
  claim(by: string, limit: number, kind: RuntimeKind): Promise<readonly ClaimedWake[]>;
  /** Extends the lease. False: the claim is lost. */
  renew(claimed: ClaimedWake, by: string): Promise<boolean>;
  /** Gives a claim up, so that another process can take it at once. */
  release(claimed: ClaimedWake, by: string): Promise<void>;
  bound(claimed: ClaimedWake, perMinute: number): Promise<WakeBound>;
  /** Records an attempt before its text is typed. Returns the wake's age, ms; undefined: the claim is lost. */
  begin(claimed: ClaimedWake, by: string, intent: AttemptIntent): Promise<number | undefined>;
  /**
   * Sets the start of an attempt to now, because its text is about to be sent again. False: the attempt has ended or
   * the claim is lost.
   */
  sendAgain(claimed: ClaimedWake, by: string, attempt: number): Promise<boolean>;
  /** Counts open wakes, unresolved escalations and unread messages of all workspaces. */
  counts(): Promise<{ readonly wakes: number; readonly escalations: number; readonly unread: number }>;
  /**
   * Records that the sidecar has queued the wake's text, and what blocks it. Returns how long the same cause has
   * blocked it, ms.
   */
  queued(claimed: ClaimedWake, by: string, blocked: Blocked): Promise<number>;
  /** Records an event that people are to be informed of. Idempotent. */
  announce(claimed: ClaimedWake, by: string, news: WakeNews): Promise<void>;
  /**
   * Ends a claim. If the wake has neither failed nor been deferred, makes a new wake for messages that came meanwhile
   * and still wait. Returns the wake's age, ms; undefined: the claim is lost.
   */
  finish(claimed: ClaimedWake, by: string, result: WakeResult): Promise<number | undefined>;
  /** Records that a runtime has confirmed the agent's session. */
  confirm(workspace: string, session: ConfirmedSession): Promise<void>;
  recentLife(claimed: ClaimedWake, staleAfterMs: number): Promise<RecentLife>;
  /** Undefined: no conversation has been named. */
  conversation(target: WakeTarget, staleAfterMs: number): Promise<NamedConversation | undefined>;
  /** Makes wakes for agents that have waiting messages and no wake; returns the number of wakes. */
  makeMissing(): Promise<number>;
  /**
   * Wakes that were typed without proof a minute or more ago, at most `limit`. Each is returned once a minute for a
   * day, until it is acknowledged or tried again.
   */
  doubtful(limit: number): Promise<readonly DoubtfulWake[]>;
  /** Makes a new wake for the messages that a doubtful wake named. False: the agent has read them meanwhile. */
  tryAgain(doubtful: DoubtfulWake): Promise<boolean>;
  /**
   * Agents that were given messages, by a wake or a read, at least two minutes ago and have not acknowledged them; at
   * most `limit` threads in all. Each is returned every 15 s for a day.
   */
  forgotten(limit: number): Promise<readonly ForgottenMessages[]>;
  /**
   * Makes these messages wait again, with a wake for them; the third time, marks them to be shown to people instead.
   * False: the agent has acknowledged them meanwhile.
   */
  remind(forgotten: ForgottenMessages): Promise<boolean>;
}
