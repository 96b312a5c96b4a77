import type { SessionConfig } from "./provider.ts";
import type { SessionTerminal, StartRequest } from "./session-backend.ts";

/** The parameters of a terminal session. */
export interface TerminalConfig extends SessionConfig {
  /** The agent program, by the provider's name. */
  readonly provider: string;
  /** Wall clock, ms; stored with the session for a later daemon. */
  readonly createdAt: number;
  /** As requested by the caller, including `mode`; stored for the same reason. */
  readonly request: StartRequest;
}

/** The end of a session. `error`: why it failed, a sentence for a person. */
export interface TerminalEnd {
  readonly error?: string | undefined;
  readonly exitCode?: number | undefined;
  /** The end was not observed: the session's last event, if there is one, states how the session ended. */
  readonly isUnknown?: true;
}

/** An agent in a terminal, behind its own sidecar. */
export interface LaunchedTerminal {
  readonly terminal: SessionTerminal;
  /** Process id of the sidecar. */
  readonly pid: number;
  /** Address of the agent; empty: it has none. */
  readonly agent: string;
  /** Resolves when agent and sidecar have ended; never rejects. */
  readonly ended: Promise<TerminalEnd>;
  /** Lets the sidecar end: its agent has ended, and the final state, for which it lingers, was read. */
  release(): void;
  /**
   * Asks the agent to end, then sends TERM and KILL within `graceMs`; 0: KILL at once. Resolves when nothing is left.
   * May be called again meanwhile, with a shorter time.
   */
  stop(graceMs: number): Promise<void>;
}

/** A session of an earlier daemon. */
export interface TerminalSurvivor {
  readonly config: TerminalConfig;
  readonly launched: LaunchedTerminal;
  /** The agent ended with that daemon: only its end remains to be reported. */
  readonly isLost?: true;
}

/** Starts agents in terminals. Methods throw only DomainErrors. */
export interface TerminalLauncher {
  /**
   * Called before a start. @throws DomainError `invalid` for an option that the provider does not have in a terminal
   */
  checkOptions(provider: string, options: SessionConfig["options"]): void;
  /**
   * Starts a sidecar with its agent and waits until Status responds and the agent is alive, at most for the start-up
   * time. If it throws, nothing is left running.
   * @throws DomainError `precondition` (no such program, not available), `deadline`
   */
  start(config: TerminalConfig, signal: AbortSignal): Promise<LaunchedTerminal>;
  /** The sessions of an earlier daemon. To be called once, before any start; cleans up after sessions that are gone. */
  survivors(signal: AbortSignal): Promise<readonly TerminalSurvivor[]>;
}
