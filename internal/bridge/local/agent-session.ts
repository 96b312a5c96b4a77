import type { DomainError } from "../../base/errors.ts";
import type { EventsRequest } from "../../session/events.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import type { SessionLog } from "../events/session-log.ts";
import type { Actor, AgentActivity, InputRequest, InputResult, SessionTerminal } from "../session-backend.ts";

/** The end of an agent. `error`: it failed. */
export interface AgentEnd {
  readonly error?: string | undefined;
}

/** A subscriber's acknowledgement of all events up to `seq`. */
export interface AckedPosition {
  readonly subscriber: string;
  readonly seq: bigint;
  readonly epoch: string;
}

/** Notified of an agent's activity. */
export interface AgentListener {
  /** The agent printed, changed its state or received input. */
  active(): void;
  /** Someone follows the agent live, or works in its terminal, until the result is disposed of. */
  attended(): Disposable;
  /** The agent's summary in overviews has changed. */
  changed(receipt?: NudgeReceipt): void;
}

/** The agent of one session, with or without a terminal. Methods throw DomainErrors. */
export interface AgentSession {
  readonly log: SessionLog;
  readonly hasTerminal: boolean;
  /** Undefined: the agent has no terminal, or none yet. */
  readonly terminal: SessionTerminal | undefined;
  /**
   * The terminal after the agent has ended; `why` is the error of calls that it no longer answers. Absent: no terminal.
   */
  readonly terminalAtEnd?: (why: () => DomainError) => SessionTerminal;
  /** Address of the agent; empty: it has none. */
  readonly agent: string;
  readonly restarts: number;
  /** The agent program's own id of its conversation, as it was last reported; empty: unknown. */
  readonly agentSessionId: string;
  /** Asks the terminal for the facts about the agent that only the terminal knows. Never rejects. */
  refresh?(signal: AbortSignal): Promise<void>;
  /** The agent is working, even silently, or is waiting for a person or a limit: it does not count as idle. */
  readonly isOccupied: boolean;
  /** Undefined: its terminal shows the activity, or the agent has reported none yet. */
  readonly activity?: AgentActivity | undefined;
  /** Resolves when the agent accepts messages; if it rejects, nothing is left running. */
  start(signal: AbortSignal): Promise<void>;
  /** Resolves when nothing of the agent is left and its output was read. To be called once, after `start`. */
  ended(): Promise<AgentEnd>;
  /** To be called after `start` and before the end. */
  send(input: InputRequest, caller: Actor, signal: AbortSignal): Promise<InputResult>;
  /** Restores a subscriber's position that an earlier process stored. To be called before `log.open`. */
  recallPosition(request: EventsRequest, caller: Actor, signal: AbortSignal): Promise<void>;
  /** Stores an acknowledged position beyond the life of this process, if possible. */
  keepPosition(position: AckedPosition, caller: Actor, signal: AbortSignal): Promise<void>;
  /** `graceMs` 0: the agent is killed at once. Resolves when the agent has ended. */
  stop(graceMs: number): Promise<void>;
  /** Appends the session's last event; afterwards this object owns no resources. */
  finish(end: AgentEnd): Promise<void>;
}
