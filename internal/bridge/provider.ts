import type { AgentStateName, Dialog } from "../session/types.ts";

/** What to start, checked: the path is allowed, the options are known to the provider. */
export interface SessionConfig {
  readonly project: string;
  readonly sessionId: string;
  /** An existing folder, under the requested name. */
  readonly repoPath: string;
  /**
   * The same folder, as the working folder for a child that is spawned before `start` resolves: it leads to the folder
   * that was checked, whatever has taken its name since.
   */
  readonly cwd: string;
  readonly options: Readonly<Record<string, string>>;
  /** The caller's request, for providers that store it: `agent_opts` with `mode`, and its time (wall clock, ms). */
  readonly asked?: { readonly agentOpts: Readonly<Record<string, string>>; readonly createdAt: number };
}

/** One running agent. */
export interface SessionHandle {
  readonly id: string;
  /** Of the agent's process; 0: it has none of its own. */
  readonly pid: number;
}

/** What an agent reports. Texts are unchanged: the code that stores them removes secrets. */
export type AgentEvent =
  /** Text for people, decoded from the program's own protocol; `text` is whole characters. */
  | {
      readonly type: "output";
      readonly stream: "stdout" | "stderr";
      readonly text: string;
      /** So many UTF-16 units at the beginning of `text` are the model's words; the rest is of tools, or a notice. */
      readonly modelChars?: number;
    }
  /**
   * What it says of itself: takes a message now, works, or waits for an answer. `hasFailed`: the turn that this ends
   * was cut off, or its model refused.
   */
  | { readonly type: "phase"; readonly state: AgentStateName; readonly hasFailed?: true }
  | { readonly type: "dialog-opened" | "dialog-closed"; readonly dialog: Dialog }
  /**
   * What became of an input that `send` answered with `queued`: given to the agent, or it never will be. Once for each.
   */
  | { readonly type: "input-settled"; readonly requestId: string; readonly result: InputOutcome }
  /** Output that never became text: at least this many bytes, e.g. the rest of a line that is too long. */
  | { readonly type: "lost"; readonly stream: "stdout" | "stderr"; readonly bytes: number; readonly reason: string }
  /** The last one. `error`: it failed, or ended by itself with this. */
  | { readonly type: "ended"; readonly error?: string; readonly exitCode?: number };

export interface AgentInput {
  readonly text: string;
  /** `[A-Za-z0-9._-]{1,128}` */
  readonly requestId: string;
}

/** `submitted`: written, and accepted by the agent's protocol. `queued`: written while it works; it comes next. */
export interface InputOutcome {
  readonly outcome: "submitted" | "queued" | "unknown" | "agent-dead" | "unsafe";
  /** A sentence for a person; empty when submitted or queued. */
  readonly error: string;
}

export type Capability = "stdio" | "terminal" | "resume";

/** Whether a provider can be used now, and what it is. */
export interface ProviderHealth {
  readonly available: boolean;
  /** Why not, a sentence for a person; empty when it can. */
  readonly error: string;
  /** What the program says of itself; empty: not known. */
  readonly version: string;
}

/**
 * An agent program as a source of sessions. The handles that it gives out are its own; every other one is an error.
 * Methods throw DomainErrors only.
 */
export interface Provider {
  readonly id: string;
  /** The program, as configured. */
  readonly binary: string;
  readonly capabilities: readonly Capability[];
  /** `agent_opts` as requested, `mode` included. @throws DomainError `denied` for one that callers may not choose */
  checkAllowed?(options: SessionConfig["options"]): void;
  /** Before anything is started. @throws DomainError `invalid` for an option that is not on the provider's list */
  checkOptions(options: SessionConfig["options"]): void;
  /**
   * Starts the agent and waits until it can take a message, at most for the provider's start-up time.
   * @throws DomainError `precondition` (no such program, not available), `deadline`; nothing is left running then
   */
  start(config: SessionConfig, signal: AbortSignal): Promise<SessionHandle>;
  /** The same `requestId` is given to the agent once only. */
  send(handle: SessionHandle, input: AgentInput, signal: AbortSignal): Promise<InputOutcome>;
  /**
   * Asks, then TERM, then KILL to its whole process group within `graceMs`; 0: KILL at once. Resolves when all have
   * gone.
   */
  stop(handle: SessionHandle, graceMs: number): Promise<void>;
  /**
   * Everything from its start on, to be read once; ends after `ended`. Bounded: a slow reader holds the agent's output
   * back.
   */
  events(handle: SessionHandle): AsyncIterable<AgentEvent>;
  health(signal: AbortSignal): Promise<ProviderHealth>;
}
