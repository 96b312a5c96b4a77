import type { Turn } from "../phases/truth.ts";
import type { Behind } from "./truth.ts";

/** The answer of one Status call, sent at `at` and received at `until`; wall clock ms. */
export interface Look {
  readonly at: number;
  readonly until: number;
  readonly state: string;
  /** The kinds of the listed tasks, in the list's order. */
  readonly kinds: readonly string[];
}

export interface BehindTruth {
  readonly turns: readonly Turn[];
  readonly behind: readonly Behind[];
  /** The times of the messages: from then on the agent may be working, until its turn is seen. */
  readonly sentAt: readonly number[];
  /** The agent program reports its background tasks; for any other program the list is always empty. */
  readonly isTold: boolean;
}

export interface BehindScore {
  /** The number of looks after the truth had been stable for longer than the lag. */
  readonly judged: number;
  /** One sentence for each stretch of wrong looks. */
  readonly faults: readonly string[];
}

/** Hooks and the agent's file may be this much ahead of its request to the model. */
const EARLY_MS = 1000;

/**
 * Compares each look with the truth. For `lagMs` after a change nothing is judged. During a turn only the state is
 * judged, because the list covers only work behind a turn that has ended.
 */
export function judgeBehind(looks: readonly Look[], truth: BehindTruth, lagMs: number): BehindScore {
  const stretches: { readonly fault: string; readonly from: number; to: number }[] = [];
  let judged = 0;
  for (const look of looks) {
    const fault = faultOf(look, truth, lagMs);
    if (fault === undefined) continue;
    judged++;
    const last = stretches.at(-1);
    if (last?.fault === fault) last.to = look.at;
    else stretches.push({ fault, from: look.at, to: look.at });
  }
  const wrong = stretches.filter(({ fault }) => fault !== "");
  return {
    judged,
    faults: wrong.map(({ fault, from, to }) => `${fault} (from ${sinceChange(from, truth)}, for ${to - from} ms)`),
  };
}

/**
 * The start of the turn that a message began; if it began none, because it failed or joined the turn in progress, the
 * time of the message.
 */
function beginAfter(sent: number, turns: readonly Turn[]): number {
  return turns.find(({ from }) => from >= sent)?.from ?? sent;
}

/** The time since the last change, in words. */
function sinceChange(at: number, { turns, behind }: BehindTruth): string {
  const changes = [...turns, ...behind].flatMap(({ from, to }) => [from, to ?? Number.POSITIVE_INFINITY]);
  const last = Math.max(...changes.filter((change) => change <= at));
  return Number.isFinite(last) ? `${at - last} ms after the last change` : "before any change";
}

/** The fault of a look. Empty: the look is right; undefined: it is not judged. */
function faultOf({ at, until, state, kinds }: Look, truth: BehindTruth, lagMs: number): string | undefined {
  const { turns, behind, isTold } = truth;
  if (truth.sentAt.some((sent) => until > sent && at < beginAfter(sent, turns))) return undefined;
  const changed = (from: number) => until > from - EARLY_MS && at < from + lagMs;
  if (turns.some(({ from, to }) => changed(from) || changed(to))) return undefined;
  if (turns.some(({ from, to }) => at >= from && at < to)) {
    return state === "busy" ? "" : `${state} in the middle of a turn`;
  }
  if (behind.some(({ from, to = Number.POSITIVE_INFINITY }) => changed(from) || changed(to))) return undefined;
  const running = isTold ? behind.filter(({ from, to }) => at >= from && (to === undefined || at < to)) : [];
  const due = running.map(({ kind }) => kind).sort();
  const told = [...kinds].sort();
  if (state === "idle" && told.join() === due.join()) return "";
  return `${state} with [${told.join()}], and idle with [${due.join()}] is so`;
}
