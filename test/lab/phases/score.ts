import type { Handwork, Turn } from "./truth.ts";

/** The state as a caller was told it at one moment; wall clock ms. */
export interface Sample {
  readonly at: number;
  readonly state: string;
  /** Since when it holds, as told. */
  readonly since: number;
}

export interface Lags {
  readonly busyMs: number;
  readonly idleMs: number;
}

export interface Score {
  readonly turns: number;
  readonly workMs: number;
  readonly idleMs: number;
  /** Each time `idle` was told while the agent was at work, beyond the allowed lag. */
  readonly falseIdles: readonly { readonly at: number; readonly intoMs: number; readonly withTool: boolean }[];
  /** Share of the working time in which the state said that it works or waits for a person. */
  readonly busyRecall: number;
  readonly busyUncertain: number;
  /** Share of the idle time in which the state said so. */
  readonly idleRecall: number;
  readonly idleUncertain: number;
  /** From the model's first request to the state; below 0 where a hook was faster than the request. */
  readonly busyLagsMs: readonly number[];
  /** From the end of the model's last answer. */
  readonly idleLagsMs: readonly number[];
  /** States that were told in the idle time, and for how long. */
  readonly idleToldMs: Readonly<Record<string, number>>;
}

/** A sample stands for the time until the next, at most for this long. */
const SAMPLE_MAX_MS = 500;
/** A hook may be this much faster than the agent's request. */
const EARLY_MS = 1000;
const AT_WORK = new Set(["busy", "dialog", "parked", "stalled"]);

/**
 * Compares what was told with what was so. Both lags are allowed after a change; what a person does counts for neither.
 */
export function scoreOf(
  samples: readonly Sample[],
  turns: readonly Turn[],
  handwork: readonly Handwork[],
  lags: Lags,
): Score {
  const work = new Tally();
  const idle = new Tally();
  const falseIdles: Score["falseIdles"][number][] = [];
  let wasFalse = false;
  samples.forEach((sample, i) => {
    const ms = Math.min(SAMPLE_MAX_MS, (samples[i + 1]?.at ?? sample.at) - sample.at);
    const turn = turns.find(({ from, to }) => sample.at >= from && sample.at < to);
    if (turn !== undefined) {
      if (sample.at < turn.from + lags.busyMs) return;
      work.add(sample.state, ms);
      const isFalse = sample.state === "idle";
      if (isFalse && !wasFalse)
        falseIdles.push({ at: sample.at, intoMs: sample.at - turn.from, withTool: turn.withTool });
      wasFalse = isFalse;
      return;
    }
    wasFalse = false;
    const before = turns.findLast(({ to }) => to <= sample.at);
    if (before === undefined || sample.at < before.to + lags.idleMs || isHandwork(sample.at, handwork)) return;
    idle.add(sample.state, ms);
  });
  return {
    turns: turns.length,
    workMs: work.total,
    idleMs: idle.total,
    falseIdles,
    busyRecall: work.share((state) => AT_WORK.has(state)),
    busyUncertain: work.share((state) => state === "uncertain"),
    idleRecall: idle.share((state) => state === "idle"),
    idleUncertain: idle.share((state) => state === "uncertain"),
    busyLagsMs: turns.flatMap((turn) => lagOf(samples, turn.from, turn.to, (state) => AT_WORK.has(state))),
    idleLagsMs: turns.flatMap((turn, i) => {
      const next = turns[i + 1]?.from ?? Number.POSITIVE_INFINITY;
      // It continues with the next piece of work, or a person does something, before it could be seen to rest.
      const goesOn = next < turn.to + lags.idleMs || handwork.some(({ from }) => isBetween(from, turn.to, lags.idleMs));
      return goesOn ? [] : lagOf(samples, turn.to, next, (state) => state === "idle");
    }),
    idleToldMs: idle.told,
  };
}

const isBetween = (at: number, from: number, ms: number) => at > from && at < from + ms;

function isHandwork(at: number, handwork: readonly Handwork[]): boolean {
  return handwork.some(({ from, to }) => at >= from && at < to);
}

/** Empty when the state never came, or had been there all along. It may come a little before the change itself. */
function lagOf(samples: readonly Sample[], at: number, until: number, fits: (state: string) => boolean): number[] {
  const first = samples.find((sample) => sample.at >= at && sample.at < until && fits(sample.state));
  return first === undefined || first.since < at - EARLY_MS ? [] : [first.since - at];
}

class Tally {
  readonly told: Record<string, number> = {};
  total = 0;

  add(state: string, ms: number): void {
    this.told[state] = (this.told[state] ?? 0) + ms;
    this.total += ms;
  }

  share(fits: (state: string) => boolean): number {
    const ms = Object.entries(this.told).reduce((all, [state, one]) => all + (fits(state) ? one : 0), 0);
    return this.total === 0 ? Number.NaN : ms / this.total;
  }
}
