import type { Clock } from "../../base/clock.ts";
import type { AgentEvent, AgentInput, SessionConfig } from "../../bridge/provider.ts";

/** How a conversation reaches its agent, and the session it tells about it. */
export interface AgentLink {
  readonly clock: Clock;
  /** The folder that the agent runs in, as a path that it can be given. */
  cwd(): string;
  /** One line for the agent. Resolves when the agent's pipe has it; rejects with a DomainError when it cannot. */
  write(message: object): Promise<void>;
  /** Nothing more is written to the agent. */
  endInput(): void;
  emit(event: Exclude<AgentEvent, { readonly type: "ended" }>): void;
}

/** One agent's own protocol over its standard streams: many turns, until it ends. */
export interface Conversation {
  /** Resolves when the agent can take a message. @throws DomainError when it refuses */
  open(signal: AbortSignal): Promise<void>;
  /** One whole line of its output. False: it is not of this protocol. Must not throw. */
  onLine(line: string): boolean;
  /**
   * Gives it a message. Resolves when its protocol has taken it: `queued`, if the agent works and keeps it for later;
   * its `input-settled` follows then. @throws DomainError when it refuses the message
   */
  give(input: AgentInput, signal: AbortSignal): Promise<"submitted" | "queued">;
  /** Ids of messages that it was given and keeps for later. */
  kept(): readonly string[];
  /** It takes a message now. */
  takesMessages(): boolean;
  /** Asks the agent to end. */
  close(): void;
}

/** What `agent_opts` may hold, by name: what is wrong with the value, as the end of a sentence; undefined: nothing. */
export type OptionRules = Readonly<Record<string, (value: string) => string | undefined>>;

/** What differs from program to program. */
export interface Dialect {
  readonly id: string;
  readonly options: OptionRules;
  readonly canResume: boolean;
  /** Matches at the start of a message that it would take as a command of its own. Absent: it knows none. */
  readonly command?: RegExp;
  /** Variables that the program may see beside those that every program gets. */
  readonly environment: { readonly names?: readonly string[]; readonly prefixes?: readonly string[] };
  /** Variables that it must not see whatever the rules say. */
  readonly unset?: readonly string[];
  /** Added to its environment. */
  readonly set?: Readonly<Record<string, string>>;
  /** Arguments for its machine-readable mode; `configured` has passed `usableArgs`. */
  argv(configured: readonly string[], session: SessionConfig): readonly string[];
  converse(link: AgentLink, session: SessionConfig): Conversation;
}
