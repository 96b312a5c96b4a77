import { until } from "../test/support/sidecar/sidecar.ts";
import type { BenchContext } from "./context.ts";
import { type Measured, measured } from "./report/row.ts";
import { interleave, median, quantile, sum } from "./stats.ts";
import { type WatchedPane, watchedByBareReader, watchedBySidecar } from "./watchers.ts";

const MEGABYTE = 1_000_000;

interface Flood {
  readonly mbPerSecond: number;
  readonly writerMs: number;
  readonly cpuMsPerMb: number;
}

/** Measures 30 MB of text in the pane: the speed of one RAW watcher, and the effect on the writing program. */
export async function measureOutput(context: BenchContext): Promise<readonly Measured[]> {
  const { quick, signal, say } = context;
  await using stack = new AsyncDisposableStack();
  const ours = stack.use(await watchedBySidecar(context));
  const theirs = stack.use(await watchedByBareReader());
  const floods = new Map<WatchedPane, Flood[]>([
    [ours, []],
    [theirs, []],
  ]);
  const bytes = (quick ? 10 : 30) * MEGABYTE;
  const arm = (pane: WatchedPane) => async (round: number) => {
    say(`output: flood ${round + 1} of ${bytes / MEGABYTE} MB, ${pane === ours ? "sidecar" : "bare reader"}`);
    floods.get(pane)?.push(await flood(pane, bytes, signal));
  };
  await interleave(quick ? 2 : 3, [arm(ours), arm(theirs)], signal);
  const [a, b] = [ours, theirs].map((pane) => mediansOf(floods.get(pane) ?? []));
  if (a === undefined || b === undefined) return [];
  return [
    measured("output: one RAW watcher (baseline: pipe-pane into a bare reader)", a.mbPerSecond, "MB/s", {
      baseline: b.mbPerSecond,
      ratioAtLeast: 0.7,
    }),
    measured("output: how long the flood takes in the pane", a.writerMs, "ms", {
      baseline: b.writerMs,
      ratioAtMost: 1.3,
    }),
    measured("output: CPU of the serving half (baseline: bare reader)", a.cpuMsPerMb, "ms/MB", {
      baseline: b.cpuMsPerMb,
    }),
    measured("output: gaps that the watcher was notified of", ours.gaps(), "gaps"),
  ];
}

async function flood(pane: WatchedPane, bytes: number, signal: AbortSignal): Promise<Flood> {
  const ends = () => pane.marks.filter((mark) => mark.kind === "end");
  const before = { ends: ends().length, bytes: pane.marks.at(-1)?.bytes ?? 0, cpuMs: pane.cpuMs() };
  const written = await Promise.race([pane.writer.flood(bytes), aborted(signal)]);
  const end = await until("the end of the flood", 60_000, () => ends()[before.ends]);
  const mb = (end.bytes - before.bytes) / MEGABYTE;
  return {
    mbPerSecond: (mb / (end.readAt - written.startedAt)) * 1000,
    writerMs: written.endedAt - written.startedAt,
    cpuMsPerMb: (pane.cpuMs() - before.cpuMs) / mb,
  };
}

function mediansOf(floods: readonly Flood[]): Flood {
  const of = (key: keyof Flood) => median(floods.map((each) => each[key]));
  return { mbPerSecond: of("mbPerSecond"), writerMs: of("writerMs"), cpuMsPerMb: of("cpuMsPerMb") };
}

/** Measures how long an occasional line takes to reach the watcher. */
export async function measureLatency(context: BenchContext): Promise<readonly Measured[]> {
  const { quick, signal, say } = context;
  await using stack = new AsyncDisposableStack();
  const ours = stack.use(await watchedBySidecar(context));
  const theirs = stack.use(await watchedByBareReader());
  const count = quick ? 40 : 120;
  const arm = (pane: WatchedPane) => async (round: number) => {
    say(`latency: round ${round + 1}, ${pane === ours ? "sidecar" : "bare reader"}`);
    const wanted = (round + 1) * count;
    await Promise.race([pane.writer.tick(count), aborted(signal)]);
    await until("the last line", 10_000, () => pane.marks.length >= wanted || undefined);
  };
  await interleave(quick ? 2 : 3, [arm(ours), arm(theirs)], signal);
  const [a, b] = [ours, theirs].map((pane) => pane.marks.map((mark) => mark.readAt - mark.writtenAt));
  if (a === undefined || b === undefined || sum(a) === 0) return [];
  const name = (what: string) => `latency, pane write to RAW watcher: ${what}`;
  return [
    measured(name("p50 (baseline: bare reader)"), quantile(a, 0.5), "ms", { baseline: quantile(b, 0.5), atMost: 10 }),
    measured(name("p99"), quantile(a, 0.99), "ms", { baseline: quantile(b, 0.99) }),
  ];
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
