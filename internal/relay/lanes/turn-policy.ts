import type { Dialect } from "../acp/dialect.ts";
import type { WorkMessage } from "../acp/work-message.ts";
import type { Answered, Prompted } from "./lane-records.ts";
import type { LaneState } from "./lane-state.ts";

/** The decision about delivered work. */
export type TurnDecision =
  /** The same work is already done: only acknowledge it. */
  | { readonly type: "duplicate" }
  /** The id belongs to other work. */
  | { readonly type: "id_reused" }
  /** The answer is in the log: finish publishing it. */
  | { readonly type: "finish"; readonly answered: Answered }
  /** An agent was asked and may have acted: do not ask it again. */
  | { readonly type: "uncertain" }
  /** The work was cancelled. */
  | { readonly type: "cancelled"; readonly by: string }
  /** The work waited longer than the limit. */
  | { readonly type: "expired" }
  /** The work has used up its attempts. */
  | { readonly type: "attempts" }
  | Ask;

export interface Ask {
  readonly type: "ask";
  readonly attempt: number;
  readonly afterMs: number;
  /** The record of this attempt, if it was begun before and is being continued. */
  readonly interrupted?: Prompted;
}

export interface TurnLimits {
  readonly maxAttempts: number;
  /** Delays before the second attempt, the third and so on, ms; the last applies to all further attempts. */
  readonly backoffMs: readonly number[];
  /** How long work may wait for an agent, ms. */
  readonly workTtlMs: number;
  /** True: ask again even if the agent may have acted. */
  readonly resends: (dialect: Dialect) => boolean;
  /** True: an interrupted attempt is continued, since the agent still gets the prompt only once. */
  readonly resumes: (dialect: Dialect) => boolean;
}

/** Decides by the log alone, whichever relay held the lane before. Pure. @param ageMs since the work was published */
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

/** Decides on the step after a failed attempt. Pure. */
export function nextAttempt(
  attempt: number,
  { maxAttempts, backoffMs }: Pick<TurnLimits, "maxAttempts" | "backoffMs">,
): Ask | { readonly type: "attempts" } {
  if (attempt >= maxAttempts) return { type: "attempts" };
  const afterMs = backoffMs[Math.min(attempt, backoffMs.length) - 1] ?? 0;
  return { type: "ask", attempt: attempt + 1, afterMs };
}
