import { type Measured, measured } from "../../../bench/report/row.ts";
import { NudgeOutcome } from "../../../pkg/bridgeclient/index.ts";
import { growthRow } from "../growth.ts";
import type { FleetMember } from "./fleet-member.ts";
import type { FleetSample } from "./fleet-sample.ts";
import type { SessionSoakResult } from "./soak-sessions.ts";

export function sessionRows({
  faults,
  samples,
  members,
  peeks,
  updates,
  overviewsEnded,
}: SessionSoakResult): readonly Measured[] {
  const name = (what: string) => `soak, ${members.length} sessions: ${what}`;
  const count = (of: (member: FleetMember) => number) => members.reduce((all, member) => all + of(member), 0);
  return [
    measured(name("lost, doubled, failed or left behind"), faults.length, "faults", { atMost: 0 }),
    measured(
      name("messages"),
      count(({ inputs }) => inputs),
      "messages",
    ),
    ...outcomeRows(members, name),
    measured(
      name("events"),
      count(({ events }) => events),
      "events",
    ),
    measured(
      name("gaps named"),
      count(({ gaps }) => gaps),
      "gaps",
    ),
    measured(
      name("readers who left and came back"),
      count(({ returns }) => returns),
      "times",
    ),
    measured(name("peeks"), peeks, "times"),
    measured(name("updates of overviews"), updates, "updates"),
    measured(name("overviews that had to be opened again"), overviewsEnded, "times"),
    ...(samples.length < 6 ? [] : growthRows(samples, name)),
  ];
}

function outcomeRows(members: readonly FleetMember[], name: (what: string) => string): readonly Measured[] {
  const all = new Map<string, number>();
  for (const { outcomes } of members)
    for (const [outcome, times] of outcomes) all.set(outcome, (all.get(outcome) ?? 0) + times);
  return [...all].map(([outcome, times]) => measured(name(`outcome ${outcomeName(outcome)}`), times, "messages"));
}

function outcomeName(outcome: string): string {
  return Object.entries(NudgeOutcome).find(([, value]) => String(value) === outcome)?.[0] ?? outcome;
}

/** For memory after collections the minimum counts, because the other samples include uncollected memory. */
function growthRows(samples: readonly FleetSample[], name: (what: string) => string): readonly Measured[] {
  const least = (values: readonly number[]) => Math.min(...values);
  const row = (
    what: string,
    unit: string,
    ratioAtMost: number,
    of: (sample: FleetSample) => number,
    average?: (values: readonly number[]) => number,
  ) => growthRow(name(what), unit, samples.map(of), { ratioAtMost, average });
  return [
    row("memory of the bridge, anonymous", "MiB", 1.1, ({ bridge }) => bridge.anonymousMiB),
    row("kept memory of the bridge", "MiB", 1.1, ({ bridgeKeptMiB }) => bridgeKeptMiB, least),
    row("descriptors of the bridge", "open", 1.02, ({ bridge }) => bridge.descriptors),
    row("memory of all sidecars, anonymous", "MiB", 1.1, ({ sidecars }) => sidecars.anonymousMiB),
    row("descriptors of all sidecars", "open", 1.02, ({ sidecars }) => sidecars.descriptors),
    row("memory of all tmux, anonymous", "MiB", 1.1, ({ tmux }) => tmux.anonymousMiB),
  ];
}
