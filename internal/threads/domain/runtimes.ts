import type { SessionStart } from "./recovery.ts";
import type { NudgeOutcomeWord } from "./wake-outcomes.ts";

/** The fields of a nudge's receipt that a wake uses. */
export interface WakeReceipt {
  readonly outcome: NudgeOutcomeWord;
  readonly error: string;
  /** Time from the call until the text was submitted or, without a submission, until it was seen on the screen, ms. */
  readonly typedMs?: number | undefined;
  readonly evidence: readonly { readonly source: string; readonly value: string; readonly confidence: string }[];
}

export interface RuntimeStatus {
  readonly alive: boolean;
  /** `idle`, `busy`, `dialog`, `parked`, … */
  readonly state: string;
  /**
   * When the agent entered this state, wall clock, ms; after a restart of the sidecar's serving half, when that first
   * saw the state.
   */
  readonly stateSince: number;
  /** When the agent last printed, wall clock, ms. */
  readonly lastOutputAt?: number | undefined;
  readonly epoch: string;
  readonly draft: boolean;
  readonly dialogTitle?: string | undefined;
  /** When a person last typed, wall clock, ms. */
  readonly personInputAt?: number | undefined;
  readonly agentSessionId?: string | undefined;
}

export interface WakeRequest {
  readonly requestId: string;
  readonly text: string;
  readonly sender: string;
  readonly urgent: boolean;
  /** Type at once, even in the middle of a turn. */
  readonly immediate: boolean;
  readonly quietMs: number;
  readonly ttlMs: number;
}

export type RuntimeKind = "sidecar" | "bridge";

/** A connection to one agent's session, through its sidecar or a bridge. Its methods fail with a DomainError. */
export interface Runtime extends AsyncDisposable {
  readonly kind: RuntimeKind;
  readonly sessionId: string;
  readonly provider: string;
  /** The parameters of a session that a bridge has started; absent: unknown. */
  readonly started?: Pick<SessionStart, "repoPath" | "agentOpts"> | undefined;
  /**
   * Sends a wake's text. Returns a receipt with the outcome `queued` if the text has to wait; follow that with
   * `receipt`.
   */
  nudge(request: WakeRequest, signal: AbortSignal): Promise<WakeReceipt>;
  /** Undefined: the runtime does not know the request. */
  receipt(requestId: string, signal: AbortSignal): Promise<WakeReceipt | undefined>;
  cancel(requestId: string, signal: AbortSignal): Promise<WakeReceipt | undefined>;
  status(signal: AbortSignal): Promise<RuntimeStatus>;
}

/** Starts sessions in place of those that ended. */
export interface SessionSpawner {
  /** Whether the provider's program can continue a conversation. */
  canResume(workspace: string, provider: string, signal: AbortSignal): Promise<boolean>;
  /** Repeated calls with the same session id start one session. @throws DomainError */
  start(workspace: string, session: SessionStart, signal: AbortSignal): Promise<void>;
  /** The receipt of a request to a session that has ended; undefined: the request is no longer known. */
  lastReceipt(
    workspace: string,
    sessionId: string,
    requestId: string,
    signal: AbortSignal,
  ): Promise<WakeReceipt | undefined>;
}

/** A turn of an agent's conversation that has no session. */
export interface ConversationTurn {
  readonly agent: string;
  readonly role: string;
  /** The session that the agent's token names. */
  readonly sessionId: string;
  readonly text: string;
}

/** A conversation that only this process may continue until it disposes of it. */
export interface TakenConversation extends AsyncDisposable {
  /**
   * Gives the text to the conversation's program and waits for the end of the turn. Throws the signal's reason when it
   * is aborted, after the program has ended.
   */
  run(turn: ConversationTurn, signal: AbortSignal): Promise<WakeReceipt>;
}

/** Continues conversations whose program is not running. */
export interface TurnRunner {
  /**
   * Takes a conversation, given the id that its program gave it. `busy`: this process or another has taken one.
   * Undefined: the conversation is not known here, or a program has it open.
   */
  take(workspace: string, conversation: string): Promise<TakenConversation | "busy" | undefined>;
}

export interface Runtimes {
  /** The kind of every runtime that `find` returns. */
  readonly kind: RuntimeKind;
  /** Absent: this server does not restart agents that have ended. */
  readonly starter?: SessionSpawner | undefined;
  /** Absent: a conversation is continued only in a session. */
  readonly runner?: TurnRunner | undefined;
  /**
   * Finds the live runtime that identifies itself as this agent's in this workspace; undefined: there is none, which a
   * bridge has confirmed if there is a `starter`. The caller disposes of the runtime.
   * @throws DomainError `unavailable` if a runtime that may be the agent's cannot be asked
   */
  find(workspace: string, agent: string, signal: AbortSignal): Promise<Runtime | undefined>;
}
