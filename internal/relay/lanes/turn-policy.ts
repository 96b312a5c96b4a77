import type { Dialect } from "../acp/dialect.ts";
import type { WorkMessage } from "../acp/work-message.ts";
import type { Answered, Prompted } from "./lane-records.ts";
import type { LaneState } from "./lane-state.ts";

/** What is to be done with work that was delivered. */
export type TurnDecision =
  /** The same work was done before: it is acknowledged and nothing else. */
  | { readonly type: "duplicate" }
  /** Its id stands for other work. */
  | { readonly type: "id_reused" }
  /** Its answer is in the log: only the rest of publishing it is left. */
  | { readonly type: "finish"; readonly answered: Answered }
  /** An agent was asked and may have acted; it must not be asked again. */
  | { readonly type: "uncertain" }
  /** Someone wants it no more. */
  | { readonly type: "cancelled"; readonly by: string }
  /** It waited longer than work may. */
  | { readonly type: "expired" }
  /** It was tried as often as it may be. */
  | { readonly type: "attempts" }
  | Ask;

export interface Ask {
  readonly type: "ask";
  readonly attempt: number;
  readonly afterMs: number;
  /** The record of this attempt, which was begun before and is continued. */
  readonly interrupted?: Prompted;
}

export interface TurnLimits {
  readonly maxAttempts: number;
  /** Waits before the second attempt, the third and so on, ms; the last one stands for all after it. */
  readonly backoffMs: readonly number[];
  /** How long work may wait for an agent, ms. */
  readonly workTtlMs: number;
  /** Ask again where it is not known whether the agent acted. */
  readonly resends: (dialect: Dialect) => boolean;
  /** The same attempt may be asked again: the agent gets it once. */
  readonly resumes: (dialect: Dialect) => boolean;
}

/**
 * Decides from the log alone, whoever held the lane when the work came before. Pure.
 * @param ageMs since the work was published
 */
export function decideTurn(state: LaneState, work: WorkMessage, limits: TurnLimits, ageMs: number): TurnDecision {
  const { done, answered, prompted } = state;
  const doneHash = done.get(work.id);
  if (doneHash !== undefined) return { type: doneHash === work.hash ? "duplicate" : "id_reused" };
  if (answered?.id === work.id) {
    return answered.hash === work.hash ? { type: "finish", answered } : { type: "id_reused" };
  }
  const isPrompted = prompted?.id === work.id;
  if (isPrompted && prompted.hash !== work.hash) return { type: "id_reused" };
  const by = state.cancelled.get(work.id);
  if (by !== undefined) return { type: "cancelled", by };
  if (!isPrompted) return ageMs > limits.workTtlMs ? { type: "expired" } : { type: "ask", attempt: 1, afterMs: 0 };
  if (limits.resumes(prompted.dialect)) {
    return { type: "ask", attempt: prompted.attempt, afterMs: 0, interrupted: prompted };
  }
  const isIdempotent = work.payload["idempotent"] === true;
  if (!isIdempotent && !limits.resends(prompted.dialect)) return { type: "uncertain" };
  return nextAttempt(prompted.attempt, limits);
}

/** Decides what follows a failed attempt. Pure. */
export function nextAttempt(
  attempt: number,
  { maxAttempts, backoffMs }: Pick<TurnLimits, "maxAttempts" | "backoffMs">,
): Ask | { readonly type: "attempts" } {
  if (attempt >= maxAttempts) return { type: "attempts" };
  const afterMs = backoffMs[Math.min(attempt, backoffMs.length) - 1] ?? 0;
  return { type: "ask", attempt: attempt + 1, afterMs };
}
