import type { BackgroundKind, DialogKind } from "../agents/profile.ts";

/**
 * The outcome of a nudge, or its state so far. With a refusal (from `blocked-by-dialog` on), not one byte was typed.
 */
export type NudgeOutcome =
  | "submitted" // left the composer; the agent took it or put it in its own queue
  | "queued" // held here, not typed yet
  | "stranded" // typed, seen in the composer, could not be submitted
  | "unknown" // typed, no proof either way; never sent again by us
  | "blocked-by-dialog"
  | "composer-busy" // a person's draft, or a person typing
  | "agent-dead"
  | "expired"
  | "unsafe" // cannot be made safe for this agent
  | "cancelled";

export type NudgeMode = "wait-idle" | "immediate" | "queue";
export type NudgePriority = "normal" | "urgent";

export type EvidenceSource = "hook" | "agent-file" | "screen" | "title" | "process" | "output";
export type Confidence = "proof" | "strong" | "weak";

export interface Evidence {
  readonly source: EvidenceSource;
  /** The observation, in a few words; never terminal content. */
  readonly value: string;
  readonly ageMs: number;
  readonly confidence: Confidence;
}

export interface NudgeRequest {
  readonly message: string;
  /** `[A-Za-z0-9._-]{1,128}`; empty: one is generated. */
  readonly requestId: string;
  readonly mode: NudgeMode;
  /** Bounds the call, not the message. */
  readonly timeoutMs: number;
  readonly sender: string;
  /** The owner of the share of queue and ids that it uses; empty or absent: callers cannot be distinguished. */
  readonly owner?: string;
  readonly priority: NudgePriority;
  readonly ttlMs: number;
  /** A person's last key must be this long ago. Absent or 0: 2,000. */
  readonly quietMs?: number;
}

/** The caller that asks for a receipt. */
export interface Asker {
  readonly owner: string;
  /** The caller may see receipts of others too. */
  readonly seesAll: boolean;
}

/** When a nudge reached each step, milliseconds from its acceptance; absent: it did not. */
export interface NudgeTimings {
  /** It entered the queue. */
  readonly queuedMs?: number;
  /** Its last attempt began. Not on the wire. */
  readonly startedMs?: number;
  /** Its text was pasted: it may be in front of the agent. Not on the wire. */
  readonly pastedMs?: number;
  /** All of its text was seen in the composer. */
  readonly typedMs?: number;
  /** The submit key was pressed. */
  readonly submittedMs?: number;
  /** The proof that the agent took it was seen. */
  readonly confirmedMs?: number;
}

export interface NudgeReceipt {
  readonly requestId: string;
  readonly outcome: NudgeOutcome;
  /** A sentence for a person; empty for `submitted`. */
  readonly error: string;
  readonly sender: string;
  /** Place in the queue, 1 first; 0 when not queued. */
  readonly queuePosition: number;
  readonly evidence: readonly Evidence[];
  readonly timings: NudgeTimings;
  /** The text that was typed, only if it differs from the message. */
  readonly deliveredText?: string | undefined;
}

export type AgentStateName =
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

export interface Dialog {
  /** Hash of its content: changes when the dialog does. */
  readonly id: string;
  readonly kind: DialogKind;
  readonly title: string;
  readonly text: string;
  readonly choices: readonly { readonly key: string; readonly label: string; readonly selected: boolean }[];
  /** Wall clock, ms. */
  readonly since: number;
}

/** An answer to the dialog with that id. */
export interface RespondRequest {
  readonly dialogId: string;
  /** Key of a choice; empty only with `text`: the choice that asks for a text. */
  readonly choice: string;
  /** One line of at most 65,536 bytes, for a choice that asks for text. */
  readonly text?: string | undefined;
  /** As a nudge's; empty: none. */
  readonly requestId: string;
}

export interface RespondResult {
  /** `answered`: that dialog is gone; `changed`: it gave way to another; `unknown`: no proof either way. */
  readonly outcome: "answered" | "changed" | "unknown";
  readonly evidence: readonly Evidence[];
}

export interface KeysRequest {
  /** Names as tmux knows them; empty if there is a `text`. */
  readonly keys: readonly string[];
  /** Typed literally, at most 65,536 bytes. */
  readonly text: string;
  /** As a nudge's; empty: none. */
  readonly requestId: string;
}

/** A task that the agent started and that runs in the background. */
export interface BackgroundTask {
  /** The agent's own id of the task; if it has none, one made from kind and place. */
  readonly id: string;
  readonly kind: BackgroundKind;
  /** Plain text on one line, at most 200 characters; may be empty. */
  readonly title: string;
  /** When it was first seen; wall clock, ms. */
  readonly since: number;
}

export interface PaneStatus {
  /** Whether the agent's process is running. */
  readonly alive: boolean;
  readonly state: AgentStateName;
  /** Wall clock, ms. */
  readonly stateSince: number;
  readonly dialog?: Dialog | undefined;
  readonly evidence: readonly Evidence[];
  readonly agentPid: number;
  readonly exitCode?: number | undefined;
  readonly restarts: number;
  readonly uptimeSeconds: number;
  /** Wall clock, ms; absent before the first output. */
  readonly lastOutputAt?: number | undefined;
  readonly queueDepth: number;
  readonly attached: number;
  readonly epoch: string;
  readonly cols: number;
  readonly rows: number;
  readonly draft: boolean;
  /** When a person last typed at an attached terminal; wall clock, ms. */
  readonly personInputAt?: number | undefined;
  readonly background: readonly BackgroundTask[];
  /** Parked: the end of the limit, if the agent reports it; wall clock, ms. */
  readonly parkedUntil?: number | undefined;
  /** The agent program's own id of its conversation; absent: unknown. */
  readonly agentSessionId?: string | undefined;
  /** Names and versions: `gt-sidecar`, `tmux`, `agent`. */
  readonly versions: Readonly<Record<string, string>>;
}

export interface PeekRequest {
  /** ≤ 0 means 50; at most 100,000. */
  readonly lines: number;
  readonly all: boolean;
  /** Keep styling (SGR). */
  readonly ansi: boolean;
  /** Join rows that the terminal wrapped. */
  readonly joinWrapped: boolean;
}

export interface PeekResult {
  readonly output: string;
  readonly alive: boolean;
  /** Older lines were left out to stay within 3 MiB. */
  readonly truncated: boolean;
  readonly alternateScreen: boolean;
  readonly cols: number;
  readonly rows: number;
  readonly cursorX: number;
  readonly cursorY: number;
  readonly epoch: string;
  readonly offset: bigint;
  readonly historyLines: number;
}

export type GapReason = "slow-reader" | "evicted" | "restart" | "truncated";

export interface Gap {
  readonly first: bigint;
  /** The first one after the gap; 0: unknown. */
  readonly to: bigint;
  readonly reason: GapReason;
}

export interface WatchRequest {
  readonly mode: "screen" | "raw";
  /** SCREEN: how many last lines; ≤ 0 means 50. */
  readonly lines: number;
  /** The least time between two updates, ms; default 100, at least 10. */
  readonly intervalMs: number;
  readonly ansi: boolean;
  readonly epoch: string;
  readonly afterOffset?: bigint | undefined;
}

export interface WatchUpdate {
  readonly kind: "snapshot" | "change" | "heartbeat" | "end";
  /** SCREEN: all of the last lines, not only those that changed. */
  readonly output: string;
  /** RAW: bytes. */
  readonly data: Uint8Array;
  readonly alive: boolean;
  /** Wall clock, ms. */
  readonly timestamp: number;
  readonly epoch: string;
  readonly offset: bigint;
  readonly gap?: Gap;
  readonly cols: number;
  readonly rows: number;
  readonly alternateScreen: boolean;
  readonly cursorX: number;
  readonly cursorY: number;
  /** Set on `end`. */
  readonly endReason: string;
}
