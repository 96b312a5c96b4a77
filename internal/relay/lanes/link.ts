import type { Exchange } from "../acp/conversation.ts";
import type { Dialect } from "../acp/dialect.ts";
import type { Json } from "../acp/json-text.ts";
import type { ResultPart } from "../acp/result-parts.ts";
import type { WorkMessage } from "../acp/work-message.ts";
import type { Prompted } from "./lane-records.ts";

/** One turn, as a link gets it. */
export interface Prompt {
  readonly work: WorkMessage;
  /** The conversation so far; empty where the work begins one. */
  readonly exchanges: readonly Exchange[];
  readonly attempt: number;
  readonly traceparent: string | undefined;
  /** The agent's own session that got the lane's last prompt. */
  readonly agentSession: string | undefined;
  /** The record of this attempt, which was interrupted and is continued. Only for dialects that `resumes` names. */
  readonly interrupted: Prompted | undefined;
}

/** How a turn ended. */
export interface LinkAnswer {
  /** At least one. */
  readonly parts: readonly ResultPart[];
  /** For the conversation. Undefined: nothing to go on from. */
  readonly exchange: Exchange | undefined;
}

/** `steered`: the agent has taken it into its turn. `idle`: no turn was open any more. */
export type SteerOutcome = "steered" | "idle" | "unsupported" | "failed";

/** A way to one agent. Between turns it is silent. */
export interface Link {
  readonly agentId: string;
  readonly connectionId: string;
  readonly dialect: Dialect;
  /** How the agent is reached. */
  readonly kind: "accept" | "stdio" | "bridge";
  /** The agent's own session that is open; it is known once `prepare` has ended. */
  readonly agentSession?: string | undefined;
  /** The place in that session from which the answer can be read again; for the log. */
  readonly agentPlace?: string | undefined;
  /** Says that the lane is held and work may come. */
  established(): void;
  /**
   * Before the log says that the agent was asked: has everything ready. What it gives is the work's answer; the agent
   * has not seen the work then.
   */
  prepare?(prompt: Prompt, signal: AbortSignal): Promise<LinkAnswer | undefined>;
  /**
   * Asks the agent; one turn at a time.
   * @throws AgentLost when the agent went before it had answered; NotTaken when it did not get the prompt, and will not
   * by this attempt; the signal's reason when that was aborted
   */
  ask(prompt: Prompt, signal: AbortSignal): Promise<LinkAnswer>;
  /** Asks the agent to end the turn that is open; `ask` gives its answer. */
  cancel(): void;
  /** Adds to the turn that is open, where the agent can. @throws AgentLost, or the signal's reason */
  steer?(prompt: readonly Json[], signal: AbortSignal): Promise<SteerOutcome>;
  /** Monotonic ms of the last frame that came. */
  readonly lastFrameMs: number;
  /** Aborted once the agent is gone; the reason is an AgentLost. */
  readonly gone: AbortSignal;
  /** Ends the connection. `code` as WebSocket has it. */
  close(code: number, reason: string): void;
}
