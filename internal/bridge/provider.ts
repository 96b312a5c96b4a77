import type { AgentStateName, Dialog } from "../session/types.ts";

/** A checked start: the path is allowed, and the provider knows the options. */
export interface SessionConfig {
  readonly project: string;
  readonly sessionId: string;
  /** The requested path of an existing folder. */
  readonly repoPath: string;
  /**
   * Working folder for a child that is spawned before `start` resolves: leads to the folder that was checked, even if
   * its name has been taken over since.
   */
  readonly cwd: string;
  readonly options: Readonly<Record<string, string>>;
  /** The caller's request, for providers that store it: `agent_opts` with `mode`, and its time (wall clock, ms). */
  readonly asked?: { readonly agentOpts: Readonly<Record<string, string>>; readonly createdAt: number };
}

/** One running agent. */
export interface SessionHandle {
  readonly id: string;
  /** Process id of the agent; 0: it has no process of its own. */
  readonly pid: number;
}

/** Events of an agent. Texts are unredacted: the code that stores them removes secrets. */
export type AgentEvent =
  /** Text for people, decoded from the program's own protocol; `text` contains whole characters only. */
  | {
      readonly type: "output";
      readonly stream: "stdout" | "stderr";
      readonly text: string;
      /**
       * The number of UTF-16 units at the beginning of `text` that the model wrote; the rest comes from tools, or is a
       * notice.
       */
      readonly modelChars?: number | undefined;
    }
  /**
   * The agent's state by its own report: ready for a message, working, or waiting for an answer. `hasFailed`: the turn
   * that has just ended was cut off, or the model refused it.
   */
  | { readonly type: "phase"; readonly state: AgentStateName; readonly hasFailed?: true | undefined }
  /** The agent program's own id of its conversation. */
  | { readonly type: "session"; readonly id: string }
  | { readonly type: "dialog-opened" | "dialog-closed"; readonly dialog: Dialog }
  /** The final outcome of an input for which `send` returned `queued`. Sent once for each. */
  | { readonly type: "input-settled"; readonly requestId: string; readonly result: InputOutcome }
  /** Output that could not be turned into text: at least this many bytes, e.g. the rest of an overlong line. */
  | { readonly type: "lost"; readonly stream: "stdout" | "stderr"; readonly bytes: number; readonly reason: string }
  /** The last event. `error`: the agent failed, or ended unexpectedly with this message. */
  | { readonly type: "ended"; readonly error?: string | undefined; readonly exitCode?: number | undefined };

export interface AgentInput {
  readonly text: string;
  /** `[A-Za-z0-9._-]{1,128}` */
  readonly requestId: string;
}

/**
 * `submitted`: written, and accepted by the agent's protocol. `queued`: written while the agent is working; the agent
 * takes it next.
 */
export interface InputOutcome {
  readonly outcome: "submitted" | "queued" | "unknown" | "agent-dead" | "unsafe";
  /** A sentence for a person; empty when submitted or queued. */
  readonly error: string;
}

export type Capability = "stdio" | "terminal" | "resume";

/** The availability and version of a provider. */
export interface ProviderHealth {
  readonly available: boolean;
  /** Why it is unavailable, a sentence for a person; empty if it is available. */
  readonly error: string;
  /** Version as the program reports it; empty: not known. */
  readonly version: string;
}

/**
 * An agent program as a source of sessions. Accepts only handles that it returned itself. Methods throw only
 * DomainErrors.
 */
export interface Provider {
  readonly id: string;
  /** The program, as configured. */
  readonly binary: string;
  readonly capabilities: readonly Capability[];
  /**
   * Checks `agent_opts` as requested, with `mode`. @throws DomainError `denied` for an option that callers may not set
   */
  checkAllowed?(options: SessionConfig["options"]): void;
  /** Called before a start. @throws DomainError `invalid` for an option that the provider does not have */
  checkOptions(options: SessionConfig["options"]): void;
  /**
   * Starts the agent and waits until it accepts a message, at most for the provider's start-up time. If it throws,
   * nothing is left running.
   * @throws DomainError `precondition` (no such program, not available), `deadline`
   */
  start(config: SessionConfig, signal: AbortSignal): Promise<SessionHandle>;
  /** Gives the agent a message; repeated calls with one `requestId` give it only once. */
  send(handle: SessionHandle, input: AgentInput, signal: AbortSignal): Promise<InputOutcome>;
  /**
   * Asks the agent to end, then sends TERM and KILL to its whole process group within `graceMs`; 0: KILL at once.
   * Resolves when all processes have ended.
   */
  stop(handle: SessionHandle, graceMs: number): Promise<void>;
  /**
   * All events from the start on; may be read once, and ends after `ended`. Bounded: a slow reader causes backpressure
   * on the agent's output.
   */
  events(handle: SessionHandle): AsyncIterable<AgentEvent>;
  health(signal: AbortSignal): Promise<ProviderHealth>;
}
