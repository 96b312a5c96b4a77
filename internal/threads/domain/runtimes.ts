import type { SessionStart } from "./recovery.ts";
import type { NudgeOutcomeWord } from "./wake-outcomes.ts";

/** The fields of a nudge's receipt that a wake uses. */
export interface WakeReceipt {
  readonly outcome: NudgeOutcomeWord;
  readonly error: string;
  /** Time from the call until the text was submitted or, without a submission, seen typed, ms. */
  readonly typedMs?: number;
  readonly evidence: readonly { readonly source: string; readonly value: string; readonly confidence: string }[];
}

export interface RuntimeStatus {
  readonly alive: boolean;
  /** `idle`, `busy`, `dialog`, `parked`, … */
  readonly state: string;
  /** When the agent entered this state, wall clock, ms; a serving half that starts again begins anew. */
  readonly stateSince: number;
  /** When it last printed, wall clock, ms. */
  readonly lastOutputAt?: number;
  readonly epoch: string;
  readonly draft: boolean;
  readonly dialogTitle?: string;
  /** When a person last typed, wall clock, ms. */
  readonly personInputAt?: number;
  readonly agentSessionId?: string;
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

/** A connection to one agent's session, through its sidecar or a bridge. Its methods fail with a DomainError. */
export interface Runtime extends AsyncDisposable {
  readonly kind: "sidecar" | "bridge";
  readonly sessionId: string;
  readonly provider: string;
  /** The parameters of a session that a bridge has started; absent: unknown. */
  readonly started?: Pick<SessionStart, "repoPath" | "agentOpts">;
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
  /** The receipt of a request to a session that has ended; undefined: it is not known any more. */
  lastReceipt(
    workspace: string,
    sessionId: string,
    requestId: string,
    signal: AbortSignal,
  ): Promise<WakeReceipt | undefined>;
}

export interface Runtimes {
  /** Absent: this server does not restart agents that ended. */
  readonly starter?: SessionSpawner;
  /**
   * Finds the live runtime that identifies itself as this agent's in this workspace; undefined: there is none, and if
   * there is a `starter`, a bridge has confirmed that. The caller disposes of the runtime.
   * @throws DomainError `unavailable` if a runtime that may be the agent's cannot be asked
   */
  find(workspace: string, agent: string, signal: AbortSignal): Promise<Runtime | undefined>;
}
