import type { ThreadTools } from "../../agents/thread-tools.ts";
import type { Clock } from "../../base/clock.ts";
import type { Environment } from "../../base/environment.ts";
import type { AgentEvent, AgentInput, SessionConfig } from "../../bridge/provider.ts";

/** A conversation's connections to its agent and to its session. */
export interface AgentLink {
  readonly clock: Clock;
  /** The agent's working folder, as a path that can be given to the agent. */
  cwd(): string;
  /**
   * Writes one line to the agent. Resolves when the agent's pipe has taken it; rejects with a DomainError if that
   * fails.
   */
  write(message: object): Promise<void>;
  /** Closes the agent's input. */
  endInput(): void;
  emit(event: Exclude<AgentEvent, { readonly type: "ended" }>): void;
}

/** One agent's own protocol over its standard streams: many turns, until it ends. */
export interface Conversation {
  /** Resolves when the agent can take a message. @throws DomainError when it refuses */
  open(signal: AbortSignal): Promise<void>;
  /** Handles one whole line of the agent's output. Returns false if it is not of this protocol. Must not throw. */
  onLine(line: string): boolean;
  /**
   * Gives the agent a message. Resolves when its protocol has taken the message: with `queued` if the agent is working
   * and keeps it for later, in which case an `input-settled` event follows.
   * @throws DomainError if the agent refuses the message
   */
  give(input: AgentInput, signal: AbortSignal): Promise<"submitted" | "queued">;
  /** The ids of messages that the agent has taken and keeps for later. */
  kept(): readonly string[];
  /** True if the agent takes a message now. */
  takesMessages(): boolean;
  /** Asks the agent to end. */
  close(): void;
}

/**
 * The options that `agent_opts` may hold, by name. Each function returns the fault of a value, as the end of a
 * sentence, or undefined.
 */
export type OptionRules = Readonly<Record<string, (value: string) => string | undefined>>;

/** The protocol and settings of one agent program. */
export interface ProgramDialect {
  readonly id: string;
  readonly options: OptionRules;
  readonly canResume: boolean;
  /**
   * Matches at the start of a message that the program would take as a command of its own. Absent: it has no commands.
   */
  readonly command?: RegExp;
  /** Variables that the program may see besides those of every program. */
  readonly environment: { readonly names?: readonly string[]; readonly prefixes?: readonly string[] };
  /** Variables that the program must not see, whatever the rules say. */
  readonly unset?: readonly string[];
  /** Added to its environment. */
  readonly set?: Readonly<Record<string, string>>;
  /** Arguments for its machine-readable mode; `configured` has passed `usableArgs`. */
  argv(configured: readonly string[], session: SessionConfig): readonly string[];
  /**
   * Additions to its arguments and environment that give it the tools of `threads` and the permission to use them;
   * `env` is its environment without them. Absent: it gets only the variables of `ThreadTools`.
   */
  threadTools?(tools: ThreadTools, env: Environment): AddedTools;
  converse(link: AgentLink, session: SessionConfig): Conversation;
}

interface AddedTools {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}
