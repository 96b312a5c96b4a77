import { type Measured, measured } from "../../../bench/report/row.ts";
import { quantile } from "../../../bench/stats.ts";
import type { PhaseRun } from "./play.ts";

const percent = (share: number) => Math.round(share * 100_000) / 1000;

/** The figures of one agent with their targets. */
export function phaseRows({ target, score }: PhaseRun): readonly Measured[] {
  const named = (what: string) => `${target.name}: ${what}`;
  const { busyMs, idleMs } = target.lags;
  const { busyLagsMs, idleLagsMs } = score;
  return [
    measured(named("busy seen p50"), quantile(busyLagsMs, 0.5), "ms", { atMost: busyMs }),
    measured(named("busy seen p99"), quantile(busyLagsMs, 0.99), "ms", { atMost: busyMs }),
    measured(named("idle seen p50"), quantile(idleLagsMs, 0.5), "ms", { atMost: idleMs }),
    measured(named("idle seen p99"), quantile(idleLagsMs, 0.99), "ms", { atMost: idleMs }),
    measured(named("false idle"), score.falseIdles.length, "times", { atMost: 0 }),
    measured(named("idle recall"), percent(score.idleRecall), "%", { atLeast: 99 }),
    measured(named("at work recall"), percent(score.busyRecall), "%", { atLeast: 99 }),
    measured(named("uncertain at work"), percent(score.busyUncertain), "%"),
    measured(named("uncertain at rest"), percent(score.idleUncertain), "%"),
  ];
}

/** One run as text for a person. */
export function phaseText(run: PhaseRun): string {
  const { score, acts } = run;
  const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;
  const played = Object.entries(acts).map(([name, times]) => `${times} × ${name}`);
  const counts = `${run.target.name}: ${score.turns} turns, ${seconds(score.workMs)} at work, ${seconds(score.idleMs)} at rest (${played.join(", ")})`;
  const atRest = Object.entries(score.idleToldMs)
    .filter(([state]) => state !== "idle")
    .map(([state, ms]) => `${state} ${Math.round(ms)} ms`);
  return [
    `- ${counts}.`,
    ...(atRest.length === 0 ? [] : [`  Reported at rest instead of idle: ${atRest.join(", ")}.`]),
    ...run.falseIdleActs.map((act) => `  FALSE IDLE: ${act}.`),
    ...run.troubles.map((trouble) => `  Could not be played: ${trouble}.`),
    ...(run.failures === 0 ? [] : [`  Questions that were not answered: ${run.failures}.`]),
  ].join("\n");
}
