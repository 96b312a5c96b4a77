import type { SessionConfig } from "./provider.ts";
import type { SessionTerminal, StartRequest } from "./session-backend.ts";

/** What a terminal session is started with. */
export interface TerminalConfig extends SessionConfig {
  /** Which agent program: the provider's name. */
  readonly provider: string;
  /** Wall clock, ms; kept with the session, so that a later daemon knows it. */
  readonly createdAt: number;
  /** As requested by the caller, including `mode`; stored for the same reason. */
  readonly request: StartRequest;
}

/** How a session ended. `error`: it failed, a sentence for a person. */
export interface TerminalEnd {
  readonly error?: string;
  readonly exitCode?: number;
  /** The end was not observed: the last event says how it ended, if there is one. */
  readonly isUnknown?: true;
}

/** An agent in a terminal, behind its own sidecar. */
export interface LaunchedTerminal {
  readonly terminal: SessionTerminal;
  /** Of the sidecar's process. */
  readonly pid: number;
  /** Address of the agent; empty: it has none. */
  readonly agent: string;
  /** Resolves when agent and sidecar have ended; never rejects. */
  readonly ended: Promise<TerminalEnd>;
  /** Its agent has ended and its final state was read: the sidecar, which lingers for that, may end. */
  release(): void;
  /**
   * Asks, then TERM, then KILL within `graceMs`; 0: KILL at once. Resolves when nothing is left of it. May be called
   * again with a shorter time while it continues.
   */
  stop(graceMs: number): Promise<void>;
}

/** A session that an earlier daemon has left. */
export interface TerminalSurvivor {
  readonly config: TerminalConfig;
  readonly launched: LaunchedTerminal;
  /** Its agent has ended with the daemon: what is left to tell is how. */
  readonly isLost?: true;
}

/** Starts agents in terminals. Methods throw DomainErrors only. */
export interface TerminalLauncher {
  /** Before anything is started. @throws DomainError `invalid` for an option that the provider lacks in a terminal */
  checkOptions(provider: string, options: SessionConfig["options"]): void;
  /**
   * Starts a sidecar with its agent and waits until Status answers and the agent lives, at most for the start-up time.
   * @throws DomainError `precondition` (no such program, not available), `deadline`; nothing is left running then
   */
  start(config: TerminalConfig, signal: AbortSignal): Promise<LaunchedTerminal>;
  /** What an earlier daemon has left, once, before any start; remains of others are cleared away. */
  survivors(signal: AbortSignal): Promise<readonly TerminalSurvivor[]>;
}
