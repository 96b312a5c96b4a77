/** The outcome of an input, by the bridge's names in lower case. */
export type BridgeInputOutcome =
  | "submitted"
  | "queued"
  | "stranded"
  | "blocked-by-dialog"
  | "composer-busy"
  | "agent-dead"
  | "expired"
  | "unknown"
  | "unsafe"
  | "cancelled";

/** The state of an agent, by the bridge's names in lower case. `unspecified`: unknown. */
export type AgentPhase =
  | "unspecified"
  | "starting"
  | "idle"
  | "busy"
  | "dialog"
  | "parked"
  | "stopping"
  | "dead"
  | "crash-loop"
  | "stalled"
  | "uncertain";

/** An open dialog on an agent's screen. Its texts are hostile. */
export interface BridgeDialog {
  /** Changes with the dialog. */
  readonly id: string;
  /** `permission`, `trust`, `question` and the like. */
  readonly kind: string;
  readonly title: string;
  readonly text: string;
  readonly choices: readonly { readonly key: string; readonly label: string }[];
}

/** Missing events, from `first` to the one before `to`. 0: unknown. */
export interface EventGap {
  readonly first: number;
  readonly to: number;
  readonly reason: string;
}

/** An event of a session, reduced to the facts that turns depend on. */
export type BridgeEvent = { readonly seq: number; readonly epoch: string } & (
  | { readonly type: "input"; readonly key: string }
  | { readonly type: "receipt"; readonly key: string; readonly outcome: BridgeInputOutcome; readonly error: string }
  | { readonly type: "phase"; readonly phase: AgentPhase }
  | { readonly type: "output"; readonly text: string }
  | { readonly type: "gap"; readonly gap: EventGap }
  | { readonly type: "dialog-opened"; readonly dialog: BridgeDialog }
  | { readonly type: "dialog-closed" }
  /** The agent has ended. `isLast`: it is not restarted. */
  | { readonly type: "ended"; readonly isLast: boolean; readonly error: string }
  | { readonly type: "other" }
);

/** The state of a session. */
export interface SessionFacts {
  readonly status: "starting" | "running" | "ended";
  /** The reason why the session failed or cannot be reached; empty: none. */
  readonly error: string;
  readonly epoch: string;
  /** The number of the last event; 0: there is none yet. */
  readonly lastSeq: number;
  readonly provider: string;
  readonly repoPath: string;
  readonly agentOpts: Readonly<Record<string, string>>;
}

/** The agent program of a session, its folder and its options. */
export type SessionParameters = Pick<SessionFacts, "provider" | "repoPath" | "agentOpts">;

export interface InputAnswer {
  readonly outcome: BridgeInputOutcome;
  readonly error: string;
}

/**
 * The sessions of one bridge. Every call throws a DomainError of the kind that the bridge answers with, `unavailable`
 * if the bridge does not answer, or the signal's reason. The fields of an `exhausted` error have the bridge's
 * `retry_after_ms`, if it sent one.
 */
export interface BridgeSessions {
  /** Starts a session. A repeated call with the same id and parameters starts nothing. */
  start(id: string, parameters: SessionParameters, signal: AbortSignal): Promise<void>;
  /** Undefined: the session does not exist. */
  get(id: string, signal: AbortSignal): Promise<SessionFacts | undefined>;
  /** Ends the agent. Succeeds if the session does not exist. */
  stop(id: string, signal: AbortSignal): Promise<void>;
  /** Sends an input. A repeated call with the same key sends nothing, and returns the outcome of the first. */
  send(id: string, text: string, key: string, signal: AbortSignal): Promise<InputAnswer>;
  /** Streams the events after `after`, then live ones, across lost connections. Ends after the session's last. */
  events(id: string, after: { readonly epoch: string; readonly seq: number }, signal: AbortSignal): Events;
  /** The open dialog. This and the calls below throw `unimplemented` for a session without a terminal. */
  dialog(id: string, signal: AbortSignal): Promise<BridgeDialog | undefined>;
  respond(id: string, answer: DialogAnswer, signal: AbortSignal): Promise<void>;
  press(id: string, keys: readonly string[], requestId: string, signal: AbortSignal): Promise<void>;
  /** Withdraws an input that has not been typed yet. */
  takeBack(id: string, key: string, signal: AbortSignal): Promise<void>;
}

type Events = AsyncIterable<BridgeEvent>;

interface DialogAnswer {
  readonly dialogId: string;
  readonly choice: string;
  readonly requestId: string;
}
