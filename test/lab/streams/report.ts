import { type Measured, measured } from "../../../bench/report/row.ts";
import { growthRow } from "../growth.ts";
import type { Sample } from "./sample.ts";
import type { StreamSoakResult } from "./streams.ts";

const MIB = 1024 * 1024;

export function streamRows(result: StreamSoakResult): readonly Measured[] {
  const { done, samples } = result;
  const name = (what: string) => `soak, streams: ${what}`;
  return [
    measured(name("lost, doubled, wrong or unreported"), result.faults.length, "faults", { atMost: 0 }),
    measured(name("printed"), result.printed / MIB, "MiB"),
    measured(name("delivered and checked"), result.checked / MIB, "MiB"),
    measured(name("events delivered and checked"), result.events, "events"),
    measured(name("connections cut"), done.cut, "times"),
    measured(name("serving half killed"), done.kill, "times"),
    measured(name("readers stalled"), done.pause, "times"),
    measured(name("floods"), done.flood, "times"),
    measured(name("agent restarted"), done.restart, "times"),
    measured(name("connections made"), result.connects, "times"),
    ...Object.entries(result.gaps).map(([reason, count]) => measured(name(`gaps named ${reason}`), count, "gaps")),
    ...(samples.length < 6 ? [] : growth(samples, name)),
  ];
}

function growth(samples: readonly Sample[], name: (what: string) => string): readonly Measured[] {
  const row = (what: string, unit: string, of: (sample: Sample) => number) =>
    growthRow(name(what), unit, samples.map(of));
  return [
    row("memory of the serving half, anonymous", "MiB", (sample) => sample.servingMiB),
    row("memory of the supervising half, anonymous", "MiB", (sample) => sample.supervisingMiB),
    row("memory of tmux, resident", "MiB", (sample) => sample.tmuxMiB),
    row("descriptors of the serving half", "open", (sample) => sample.servingDescriptors),
    row("descriptors of the supervising half", "open", (sample) => sample.supervisingDescriptors),
  ];
}
