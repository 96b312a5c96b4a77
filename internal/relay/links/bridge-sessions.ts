/** What became of an input, as a bridge names it in lower case. */
export type InputOutcome =
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

/** What an agent does, as a bridge names it in lower case; `unspecified`: not known. */
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

/** A dialog that is open on an agent's screen. Its texts are hostile. */
export interface BridgeDialog {
  /** Changes when the dialog does. */
  readonly id: string;
  /** `permission`, `trust`, `question` and the like. */
  readonly kind: string;
  readonly title: string;
  readonly text: string;
  readonly choices: readonly { readonly key: string; readonly label: string }[];
}

/** Events that are missing: from `first` up to the one before `to`; 0: not known. */
export interface EventGap {
  readonly first: number;
  readonly to: number;
  readonly reason: string;
}

/** An event of a session, as far as a turn depends on it. */
export type BridgeEvent = { readonly seq: number; readonly epoch: string } & (
  | { readonly type: "input"; readonly key: string }
  | { readonly type: "receipt"; readonly key: string; readonly outcome: InputOutcome; readonly error: string }
  | { readonly type: "phase"; readonly phase: AgentPhase }
  | { readonly type: "output"; readonly text: string }
  | { readonly type: "gap"; readonly gap: EventGap }
  | { readonly type: "dialog-opened"; readonly dialog: BridgeDialog }
  | { readonly type: "dialog-closed" }
  /** The agent has ended; `isLast`: and is not started again. */
  | { readonly type: "ended"; readonly isLast: boolean; readonly error: string }
  | { readonly type: "other" }
);

/** Where a session stands. */
export interface SessionFacts {
  readonly status: "starting" | "running" | "ended";
  /** Why it failed, or why it cannot be reached; empty: no reason. */
  readonly error: string;
  readonly epoch: string;
  /** The last event's; 0 before the first. */
  readonly lastSeq: number;
  readonly provider: string;
  readonly repoPath: string;
  readonly agentOpts: Readonly<Record<string, string>>;
}

/** Which agent a session runs, and where. */
export type SessionParameters = Pick<SessionFacts, "provider" | "repoPath" | "agentOpts">;

export interface InputAnswer {
  readonly outcome: InputOutcome;
  readonly error: string;
}

/**
 * The sessions of one bridge. Every call throws a DomainError of the kind that the bridge answers with, `unavailable`
 * where it does not, and the signal's reason. `retry_after_ms` is among the fields of `exhausted` where the bridge says
 * so.
 */
export interface BridgeSessions {
  /** The same id and parameters again start nothing. */
  start(id: string, parameters: SessionParameters, signal: AbortSignal): Promise<void>;
  /** Undefined: there is none. */
  get(id: string, signal: AbortSignal): Promise<SessionFacts | undefined>;
  /** Ends the agent; a session that is not there is ended. */
  stop(id: string, signal: AbortSignal): Promise<void>;
  /** The same key again gives the agent nothing, and returns what became of the first. */
  send(id: string, text: string, key: string, signal: AbortSignal): Promise<InputAnswer>;
  /** Events after one of an epoch, then live ones, across lost connections; ends behind the session's last. */
  events(id: string, after: { readonly epoch: string; readonly seq: number }, signal: AbortSignal): Events;
  /** The dialog that is open now. `unimplemented` for a session without a terminal, as are the rest. */
  dialog(id: string, signal: AbortSignal): Promise<BridgeDialog | undefined>;
  respond(id: string, answer: DialogAnswer, signal: AbortSignal): Promise<void>;
  press(id: string, keys: readonly string[], requestId: string, signal: AbortSignal): Promise<void>;
  /** Takes an input back that is not typed yet. */
  takeBack(id: string, key: string, signal: AbortSignal): Promise<void>;
}

type Events = AsyncIterable<BridgeEvent>;

interface DialogAnswer {
  readonly dialogId: string;
  readonly choice: string;
  readonly requestId: string;
}
