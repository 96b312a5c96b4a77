import type { Handwork, Turn } from "./truth.ts";

/** The state that a caller received at one moment; wall clock ms. */
export interface Sample {
  readonly at: number;
  readonly state: string;
  /** The start of this state, as reported. */
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
  /** Each time `idle` was reported while the agent was working, beyond the allowed lag. */
  readonly falseIdles: readonly { readonly at: number; readonly intoMs: number; readonly withTool: boolean }[];
  /** The share of the working time in which the state was busy or waiting for a person. */
  readonly busyRecall: number;
  readonly busyUncertain: number;
  /** The share of the idle time in which the state was idle. */
  readonly idleRecall: number;
  readonly idleUncertain: number;
  /** The time from a turn's first request to a working state; below 0 if a hook was faster than the request. */
  readonly busyLagsMs: readonly number[];
  /** The time from the end of a turn's last answer to the idle state. */
  readonly idleLagsMs: readonly number[];
  /** The states that were reported in the idle time, with their durations. */
  readonly idleToldMs: Readonly<Record<string, number>>;
}

/** A sample represents the time until the next one, but at most this long. */
const SAMPLE_MAX_MS = 500;
/** A hook may be this much faster than the agent's request. */
const EARLY_MS = 1000;
const AT_WORK = new Set(["busy", "dialog", "parked", "stalled"]);

/**
 * Compares the reported states with the truth. The allowed lag after each change is not judged, and neither is idle
 * time in which a person acts.
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
      // The next turn begins, or a person acts, before the idle state could be observed.
      const isActive =
        next < turn.to + lags.idleMs || handwork.some(({ from }) => isBetween(from, turn.to, lags.idleMs));
      return isActive ? [] : lagOf(samples, turn.to, next, (state) => state === "idle");
    }),
    idleToldMs: idle.told,
  };
}

const isBetween = (at: number, from: number, ms: number) => at > from && at < from + ms;

function isHandwork(at: number, handwork: readonly Handwork[]): boolean {
  return handwork.some(({ from, to }) => at >= from && at < to);
}

/** Empty if the state never came, or was present all along. It may come a little before the change itself. */
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
