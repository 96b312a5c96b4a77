import type { Exchange } from "../acp/conversation.ts";
import type { Dialect } from "../acp/dialect.ts";
import type { ExactJson } from "../acp/json-text.ts";
import type { ResultPart } from "../acp/result-parts.ts";
import type { WorkMessage } from "../acp/work-message.ts";
import type { Prompted } from "./lane-records.ts";

/** A turn for an agent. */
export interface Prompt {
  readonly work: WorkMessage;
  /** The conversation so far; empty if the work begins one. */
  readonly exchanges: readonly Exchange[];
  readonly attempt: number;
  readonly traceparent: string | undefined;
  /** The agent's own session that got the lane's previous prompt. */
  readonly agentSession: string | undefined;
  /**
   * The record of this attempt, if it was interrupted and is being continued. Only for dialects that `resumes` allows.
   */
  readonly interrupted: Prompted | undefined;
}

/** The answer that ends a turn. */
export interface LinkAnswer {
  /** At least one part. */
  readonly parts: readonly ResultPart[];
  /** The exchange for the conversation. Undefined: there is none. */
  readonly exchange: Exchange | undefined;
}

/** `steered`: the agent has added the prompt to its turn. `idle`: no turn was open. */
export type SteerOutcome = "steered" | "idle" | "unsupported" | "failed";

/** A connection to one agent. Silent between turns. */
export interface LaneLink {
  readonly agentId: string;
  readonly connectionId: string;
  readonly dialect: Dialect;
  /** How the agent is reached. */
  readonly kind: "accept" | "stdio" | "bridge";
  /** The agent's own open session; known once `prepare` has ended. */
  readonly agentSession?: string | undefined;
  /** The place in that session from which the answer can be read again; recorded in the log. */
  readonly agentPlace?: string | undefined;
  /** Called when the lane is held and work may come. */
  established(): void;
  /**
   * Prepares for the prompt, before the log records that the agent was asked. A returned answer is the work's answer;
   * the agent has not seen the work.
   */
  prepare?(prompt: Prompt, signal: AbortSignal): Promise<LinkAnswer | undefined>;
  /**
   * Asks the agent; one turn at a time.
   * @throws AgentLost if the agent went before it answered; NotTaken if it did not get the prompt, and will not get it
   * in this attempt; the signal's reason
   */
  ask(prompt: Prompt, signal: AbortSignal): Promise<LinkAnswer>;
  /** Asks the agent to end the open turn; `ask` then returns its answer. */
  cancel(): void;
  /** Adds to the open turn, if the agent supports it. @throws AgentLost, or the signal's reason */
  steer?(prompt: readonly ExactJson[], signal: AbortSignal): Promise<SteerOutcome>;
  /** Monotonic ms of the last received frame. */
  readonly lastFrameMs: number;
  /** Aborted once the agent is gone; the reason is an AgentLost. */
  readonly gone: AbortSignal;
  /** Ends the connection. `code` is a close code of WebSocket. */
  close(code: number, reason: string): void;
}
