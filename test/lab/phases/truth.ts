import type { ModelSpan } from "../../fakes/model-server.ts";

/** One unit of work, from the model's first request to its last answer; wall clock ms. */
export interface Turn {
  readonly from: number;
  readonly to: number;
  /** A tool was called during the turn. */
  readonly withTool: boolean;
}

/** A person's action, from the first key until all traces of it have left the screen; wall clock ms. */
export interface Handwork {
  readonly from: number;
  readonly to: number;
  /** The time at which the action interrupted the agent's work. */
  readonly interruptedAt?: number;
}

/**
 * The agent's working times according to the model server's log: from a request that carries one of our texts to the
 * end of the answer without a tool call. While a tool is requested or is running, the turn continues, until the model
 * receives the tool's result or a person interrupts. Unfinished work is left out.
 */
export function turnsOf(spans: readonly ModelSpan[], handwork: readonly Handwork[], isOurs: RegExp): Turn[] {
  const turns: Turn[] = [];
  let open: { from: number; calledAt: number | undefined; withTool: boolean } | undefined;
  const close = (to: number) => {
    if (open !== undefined) turns.push({ from: open.from, to, withTool: open.withTool });
    open = undefined;
  };
  const interruptAfter = (at: number) => handwork.find((act) => (act.interruptedAt ?? 0) >= at)?.interruptedAt;
  const ours = spans.filter(({ request }) => request.withTools && isOurs.test(request.lastUserText));
  for (const { request, act, endedAt } of ours.toSorted((a, b) => a.request.at - b.request.at)) {
    const refusedAt = open?.calledAt === undefined ? undefined : interruptAfter(open.calledAt);
    if (refusedAt !== undefined && refusedAt < request.at) close(refusedAt);
    open ??= { from: request.at, calledAt: undefined, withTool: false };
    if (endedAt === undefined) return turns;
    if (act === "call") {
      open.calledAt = endedAt;
      open.withTool = true;
    } else close(endedAt);
  }
  const last = open?.calledAt === undefined ? undefined : interruptAfter(open.calledAt);
  if (last !== undefined) close(last);
  return turns;
}
