import { aborted, firstOf } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { failure } from "../acp/result-parts.ts";
import type { WorkItem } from "../nats/work-item.ts";
import type { LaneOptions } from "./lane-deps.ts";
import type { LaneLink, LinkAnswer, Prompt } from "./link.ts";
import { overdue } from "./turn-time.ts";

export interface TimedTurn {
  readonly link: LaneLink;
  readonly item: WorkItem;
  readonly prompt: Prompt;
  readonly cancelled: AbortSignal;
  /** Called once the agent has been asked. */
  readonly onAsked: () => void;
}

type Times = Pick<LaneOptions, "deadlineMs" | "idleMs" | "ackWaitMs" | "cancelGraceMs">;

/** Policy violation, as WebSocket defines it: the agent did not end its turn. */
const NOT_ENDED = 1008;

/**
 * Asks the agent and waits for its answer, within the turn's limits and until the turn is cancelled. After that, asks
 * the agent to end the turn; if the grace period passes, closes its connection and ignores a later answer. Undefined:
 * the turn was cancelled without an answer that counts.
 * @throws AgentLost, or the signal's reason
 */
export async function askInTime(
  clock: Clock,
  { link, item, prompt, cancelled, onAsked }: TimedTurn,
  { deadlineMs, idleMs, ackWaitMs, cancelGraceMs }: Times,
  signal: AbortSignal,
): Promise<LinkAnswer | undefined> {
  const over = new AbortController();
  const turn = AbortSignal.any([signal, over.signal]);
  const everyMs = ackWaitMs / 3;
  const time = { deadlineMs, idleMs, everyMs, lastFrameMs: () => link.lastFrameMs, stillWorking: () => item.working() };
  const asking = link.ask(prompt, turn);
  onAsked();
  try {
    const first = await firstOf(
      turn,
      () => asking,
      (stop) => overdue(clock, time, stop),
      () => aborted(cancelled).then(() => "cancelled" as const),
    );
    if (typeof first !== "string") return first;
    link.cancel();
    const last = asking.catch(() => undefined);
    const late = (stop: AbortSignal) => grace(clock, item, { ms: cancelGraceMs, everyMs }, stop);
    const answer = await firstOf(turn, () => last, late);
    signal.throwIfAborted();
    if (answer === "late") link.close(NOT_ENDED, "the turn was not ended");
    if (first !== "cancelled") return deadlineExceeded(first);
    return answer === "late" || answer === undefined || !counts(answer) ? undefined : answer;
  } finally {
    over.abort(new Error("the turn is over"));
  }
}

/** True if the answer shows that the turn ended before the agent was asked to end it. Such an answer stands. */
function counts({ parts }: LinkAnswer): boolean {
  const type = parts.at(-1)?.type;
  return type === "result.success" || type === "tool_use" || type === "result.partial";
}

function deadlineExceeded(bound: string): LinkAnswer {
  return { parts: [failure("deadline", `the agent exceeded the turn's ${bound} time`)], exchange: undefined };
}

/** Waits, and tells the server that the work is in progress. */
async function grace(
  clock: Clock,
  item: WorkItem,
  { ms, everyMs }: { readonly ms: number; readonly everyMs: number },
  signal: AbortSignal,
): Promise<"late"> {
  for (let left = ms; left > 0 && !signal.aborted; left -= everyMs) {
    item.working();
    await clock.sleep(Math.min(left, everyMs), signal).catch(() => {});
  }
  return "late";
}
