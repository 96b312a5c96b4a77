import type { DomainError } from "../../base/errors.ts";
import type { EventsRequest } from "../../session/events.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import type { SessionLog } from "../events/session-log.ts";
import type { AgentActivity, Caller, InputRequest, InputResult, SessionTerminal } from "../session-backend.ts";

/** How an agent ended. `error`: it failed. */
export interface AgentEnd {
  readonly error?: string;
}

/** A subscriber is done with all events up to `seq`. */
export interface AckedPosition {
  readonly subscriber: string;
  readonly seq: bigint;
  readonly epoch: string;
}

/** Hears what an agent does. */
export interface AgentListener {
  /** It printed, changed its state or was given something. */
  active(): void;
  /** Someone follows it live, or works in its terminal, until this is disposed of. */
  attended(): Disposable;
  /** What an overview shows of it changed. */
  changed(receipt?: NudgeReceipt): void;
}

/** The one agent of a session, whichever way it is talked to. Methods throw DomainErrors. */
export interface AgentSession {
  readonly log: SessionLog;
  readonly hasTerminal: boolean;
  /** Undefined: it has none, or none yet. */
  readonly terminal: SessionTerminal | undefined;
  /** Its terminal once it has ended, of which `why` tells; absent: it has none. */
  readonly terminalAtEnd?: (why: () => DomainError) => SessionTerminal;
  /** Address of the agent; empty: it has none. */
  readonly agent: string;
  readonly restarts: number;
  /** It works, however quietly, or waits for a person or a limit: it is not idle. */
  readonly isOccupied: boolean;
  /** Undefined: its terminal tells it, or it has said nothing yet. */
  readonly activity?: AgentActivity | undefined;
  /** Resolves when it takes messages; nothing is left running when it rejects. */
  start(signal: AbortSignal): Promise<void>;
  /** Resolves when nothing of it is left and its output has been read. To be called once, after `start`. */
  ended(): Promise<AgentEnd>;
  /** To be called between `start` and the end. */
  send(input: InputRequest, caller: Caller, signal: AbortSignal): Promise<InputResult>;
  /** Looks for a subscriber's position where it outlived an earlier process, before `log.open`. */
  recallPosition(request: EventsRequest, caller: Caller, signal: AbortSignal): Promise<void>;
  /** Keeps a position that was acknowledged where it outlives this process, if that can be done. */
  keepPosition(position: AckedPosition, caller: Caller, signal: AbortSignal): Promise<void>;
  /** 0: KILL at once. Resolves when it has ended. */
  stop(graceMs: number): Promise<void>;
  /** Adds the session's last event; this object owns nothing afterwards. */
  finish(end: AgentEnd): Promise<void>;
}
