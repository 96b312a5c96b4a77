import type { RunFacts } from "../report.ts";
import { writeSection } from "../results-section.ts";
import { type Measured, measured } from "../row.ts";
import { quantile } from "../stats.ts";
import type { PhaseRun } from "./play.ts";

const percent = (share: number) => Math.round(share * 100_000) / 1000;

/** The figures of one agent with what they should be. */
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
    measured(named("uncertain in rest"), percent(score.idleUncertain), "%"),
  ];
}

/** One run as lines for a reader. */
export function phaseText(run: PhaseRun): string {
  const { score, acts } = run;
  const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;
  const played = Object.entries(acts).map(([name, times]) => `${times} × ${name}`);
  const counts = `${run.target.name}: ${score.turns} turns, ${seconds(score.workMs)} at work, ${seconds(score.idleMs)} at rest (${played.join(", ")})`;
  const told = Object.entries(score.idleToldMs)
    .filter(([state]) => state !== "idle")
    .map(([state, ms]) => `${state} ${Math.round(ms)} ms`);
  return [
    `- ${counts}.`,
    ...(told.length === 0 ? [] : [`  Told at rest instead of idle: ${told.join(", ")}.`]),
    ...run.falseIdleActs.map((act) => `  FALSE IDLE: ${act}.`),
    ...run.troubles.map((trouble) => `  Could not be played: ${trouble}.`),
    ...(run.failures === 0 ? [] : [`  Questions that were not answered: ${run.failures}.`]),
  ].join("\n");
}

const HOW = `One person and one agent: the person's keys go to the terminal past the sidecar, what is told is \`Status\` asked again and again, and what is
so is the log of the model server on loopback: an agent is at work from its first request to the end of the answer that calls no tool,
while a tool is asked for or runs too. "Seen": \`state_since\` less the moment of the request, or of the end of the answer. A false idle is \`idle\` told
while the agent is at work, 300 ms after the work began or later. Recall is of time, beyond the lag that is allowed; "uncertain" counts
as a miss. Keys of a person, and dialogs that nobody asked the model for, count for neither side. Repeat: \`npm run soak -- --only phases --minutes 60\`.`;

/** Writes the section of bench/RESULTS.md; all else stays as it is. */
export function writePhases(
  runs: readonly PhaseRun[],
  rows: readonly string[],
  facts: RunFacts,
  minutes: number,
): void {
  const table = ["| what | value | | | aim | |", "|---|---:|---:|---:|---|---|", ...rows].join("\n");
  const title = `## State, told and true (${minutes} minutes)`;
  const parts = [title, HOW, `${facts.date}; ${facts.machine}.`, table, runs.map(phaseText).join("\n")];
  writeSection("phases", parts.join("\n\n"));
}
