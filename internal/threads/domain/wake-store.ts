import type { ForgottenMessages } from "./reminder.ts";
import type { WakeReceipt } from "./runtimes.ts";
import type { DoubtfulWake } from "./second-look.ts";
import type { Wake, WakeNews, WakeState } from "./types.ts";
import type { Blocked } from "./wake-blocks.ts";

/** A wake that this process has for as long as it renews its lease. */
export interface ClaimedWake {
  readonly workspace: string;
  readonly wake: Wake;
}

export interface AttemptIntent {
  readonly attempt: number;
  readonly requestId: string;
  readonly sessionId: string;
  readonly epoch: string;
  readonly text: string;
  readonly upto: Readonly<Record<string, number>>;
}

/** What a wake becomes; see `AfterOutcome`. */
export interface WakeResult {
  readonly state: WakeState;
  readonly outcome: string;
  readonly againMs?: number;
  readonly blockedBy?: string;
  /** An event that people are to be informed of. */
  readonly news?: WakeNews;
  /** Of the attempt that ended with it. */
  readonly attempt?: { readonly attempt: number; readonly receipt: WakeReceipt };
  /** Threads and seqs that now count as offered. */
  readonly offered?: Readonly<Record<string, number>>;
}

export interface ConfirmedSession {
  readonly sessionId: string;
  readonly agent: string;
  readonly runtime: "sidecar" | "bridge";
  readonly provider: string;
}

/** What stands in the way of a wake before its agent is looked for. */
export type WakeBound = "paused" | "rate" | undefined;

/** Wakes in work. Every process works on them; a claim is a lease in columns, by the database's clock. */
export interface WakeStore {
  claim(by: string, limit: number): Promise<readonly ClaimedWake[]>;
  /** False: another process has it. */
  renew(claimed: ClaimedWake, by: string): Promise<boolean>;
  /** Gives a claim back, so that another process takes it at once. */
  release(claimed: ClaimedWake, by: string): Promise<void>;
  bound(claimed: ClaimedWake, perMinute: number): Promise<WakeBound>;
  /** Commits what is about to be typed, before it is; the wake's age, ms. Undefined: another process has the wake. */
  begin(claimed: ClaimedWake, by: string, intent: AttemptIntent): Promise<number | undefined>;
  /** The same text is about to be sent again: the attempt begins now. False: another process has the wake. */
  sendAgain(claimed: ClaimedWake, by: string, attempt: number): Promise<boolean>;
  /** In all workspaces. */
  counts(): Promise<{ readonly wakes: number; readonly escalations: number; readonly unread: number }>;
  /** The sidecar holds it; for how long the same thing has been in the way, ms. */
  queued(claimed: ClaimedWake, by: string, blocked: Blocked): Promise<number>;
  /** Notes an event that people are to be informed of; a second time changes nothing. */
  announce(claimed: ClaimedWake, by: string, news: WakeNews): Promise<void>;
  /**
   * Ends a claim. What came while the wake was open and waits still has a new wake then. The wake's age, ms; undefined:
   * another process has it.
   */
  finish(claimed: ClaimedWake, by: string, result: WakeResult): Promise<number | undefined>;
  /** A runtime says that the session is this agent's. */
  confirm(workspace: string, session: ConfirmedSession): Promise<void>;
  /** Makes wakes for agents for whom something waits and who have none; answers with how many. */
  makeMissing(): Promise<number>;
  /**
   * Wakes without proof that have had their minute, at most `limit`; each is given out once a minute for a day, until
   * it is acknowledged or tried again.
   */
  doubtful(limit: number): Promise<readonly DoubtfulWake[]>;
  /** Has what a doubtful wake named wait again, and makes a wake for it. False: the agent has read it meanwhile. */
  tryAgain(doubtful: DoubtfulWake): Promise<boolean>;
  /**
   * Agents that were given messages, by a wake or a read, two minutes ago or more and have not acknowledged them, at
   * most `limit`; each is given out every 15 s.
   */
  forgotten(limit: number): Promise<readonly ForgottenMessages[]>;
  /**
   * Has these messages wait again, with a wake for them; the third time people are to be shown them instead. False: the
   * agent has acknowledged them meanwhile.
   */
  remind(forgotten: ForgottenMessages): Promise<boolean>;
}
