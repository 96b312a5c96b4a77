import type { NudgeOutcomeWord } from "./wake-outcomes.ts";

/** A receipt, as far as a wake needs it. */
export interface WakeReceipt {
  readonly outcome: NudgeOutcomeWord;
  readonly error: string;
  /** When its text was before the agent, ms from the call: submitted, or else seen typed. */
  readonly typedMs?: number;
  readonly evidence: readonly { readonly source: string; readonly value: string; readonly confidence: string }[];
}

export interface RuntimeStatus {
  readonly alive: boolean;
  /** `idle`, `busy`, `dialog`, `parked`, … */
  readonly state: string;
  /** Since when it has this state, wall clock, ms. */
  readonly stateSince: number;
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
  /** Types at once, also mid-turn. */
  readonly immediate: boolean;
  readonly quietMs: number;
  readonly ttlMs: number;
}

/** The place of one agent's session, reached by its sidecar or its bridge. Failures are DomainErrors. */
export interface Runtime extends AsyncDisposable {
  readonly kind: "sidecar" | "bridge";
  readonly sessionId: string;
  readonly provider: string;
  /** Returns at once with what is known: a queued wake is followed by `receipt`. */
  nudge(request: WakeRequest, signal: AbortSignal): Promise<WakeReceipt>;
  /** Undefined: the runtime knows no such request. */
  receipt(requestId: string, signal: AbortSignal): Promise<WakeReceipt | undefined>;
  cancel(requestId: string, signal: AbortSignal): Promise<WakeReceipt | undefined>;
  status(signal: AbortSignal): Promise<RuntimeStatus>;
}

export interface Runtimes {
  /**
   * The runtime that says of itself that it is this agent's in this workspace; undefined where none does.
   * @throws DomainError `unavailable` where one may be there and cannot be asked
   */
  find(workspace: string, agent: string, signal: AbortSignal): Promise<Runtime | undefined>;
}
