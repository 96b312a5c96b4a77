import type { SessionStatusName } from "../session-backend.ts";

/** The state of a session; times are wall clock, ms. */
export type SessionState =
  | { readonly type: "starting" }
  | { readonly type: "running" }
  | { readonly type: "stopping"; readonly why: StopReason }
  | { readonly type: "stopped"; readonly at: number; readonly why: StopReason | "AgentExited" }
  | {
      readonly type: "failed";
      readonly at: number;
      readonly why: "StartFailed" | "AgentFailed";
      readonly error: string;
    };

export type StopReason = "StopRequested" | "IdleTimeout" | "BridgeShutdown";

/** An event in the life of a session. */
export type SessionFact =
  /** The agent accepts messages. */
  | { readonly type: "started" }
  | { readonly type: "stop"; readonly why: StopReason }
  /** Nothing of the agent is left; `error`: it failed, or could not be started. */
  | { readonly type: "ended"; readonly at: number; readonly error?: string | undefined };

/**
 * The state after a fact. An ended session never changes; an agent that fails while it is being stopped counts as
 * stopped.
 */
export function nextState(state: SessionState, fact: SessionFact): SessionState {
  switch (state.type) {
    case "starting":
      if (fact.type === "started") return { type: "running" };
      if (fact.type === "stop") return { type: "stopping", why: fact.why };
      return {
        type: "failed",
        at: fact.at,
        why: "StartFailed",
        error: fact.error ?? "the agent ended during its start",
      };
    case "running":
      if (fact.type === "started") return state;
      if (fact.type === "stop") return { type: "stopping", why: fact.why };
      if (fact.error === undefined) return { type: "stopped", at: fact.at, why: "AgentExited" };
      return { type: "failed", at: fact.at, why: "AgentFailed", error: fact.error };
    case "stopping":
      return fact.type === "ended" ? { type: "stopped", at: fact.at, why: state.why } : state;
    case "stopped":
    case "failed":
      return state;
  }
}

/** Nothing of the session's agent is left. */
export function isFinalStatus(status: SessionStatusName): boolean {
  return status === "stopped" || status === "failed";
}
