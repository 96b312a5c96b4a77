import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createClient } from "@connectrpc/connect";
import {
  type SidecarOutputUpdate,
  SidecarService,
  UpdateKind,
  WatchMode,
} from "../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../internal/rpc/client/transport.ts";
import { type Sample, takeSample } from "../test/lab/streams/sample.ts";
import { tmuxSandbox } from "../test/support/screens/tmux-sandbox.ts";
import { openAttach } from "../test/support/sidecar/attach-client.ts";
import { type RunningSidecar, until } from "../test/support/sidecar/sidecar.ts";
import type { BenchContext } from "./context.ts";
import { type PaneProgram, paneProgram } from "./pane-program.ts";
import { type Measured, measured } from "./report/row.ts";
import { interleave, median, quantile } from "./stats.ts";
import { type WatchedBySidecar, watchedBySidecar } from "./watchers.ts";

const run = promisify(execFile);
const MEGABYTE = 1_000_000;
const SAMPLE_MS = 250;

interface Flood {
  readonly writerMs: number;
  /** The lags of the reader that keeps up: from the writing of each piece to its reading. */
  readonly lagsMs: readonly number[];
  readonly peak: Pick<Sample, "servingMiB" | "supervisingMiB" | "tmuxMiB">;
}

/**
 * Measures 100 MB of output to a reader that keeps up, with and without another reader that has stopped; and the effect
 * of Ctrl-C during a flood.
 */
export async function measureStalled(context: BenchContext): Promise<readonly Measured[]> {
  return [...(await measureFloods(context)), ...(await measureInterrupts(context))];
}

async function measureFloods(context: BenchContext): Promise<readonly Measured[]> {
  const { quick, signal, say } = context;
  await using pane = await watchedBySidecar(context);
  const bytes = (quick ? 20 : 100) * MEGABYTE;
  await flood(pane, 20 * MEGABYTE); // the first run pays for the warm-up, and its memory stays
  const [alone, stalled]: [Flood[], Flood[]] = [[], []];
  let unnamed = 0;
  const arm = (floods: Flood[]) => async (round: number) => {
    say(
      `stalled: flood ${round + 1} of ${bytes / MEGABYTE} MB, ${floods === stalled ? "with" : "without"} a stalled reader`,
    );
    await using reader = floods === stalled ? await stalledReader(pane.sidecar) : undefined;
    signal.throwIfAborted();
    floods.push(await flood(pane, bytes));
    unnamed += (await reader?.unnamedBytes()) ?? 0;
  };
  await interleave(quick ? 1 : 2, [arm(alone), arm(stalled)], signal);
  const peakOf = (floods: readonly Flood[], part: keyof Flood["peak"]) =>
    Math.max(...floods.map(({ peak }) => peak[part]));
  const lagOf = (floods: readonly Flood[], q: number) =>
    quantile(
      floods.flatMap(({ lagsMs }) => lagsMs),
      q,
    );
  const msOf = (floods: readonly Flood[]) => median(floods.map(({ writerMs }) => writerMs));
  const name = (what: string) => `${bytes / MEGABYTE} MB past a stalled reader: ${what}`;
  const more = (part: keyof Flood["peak"]) => peakOf(stalled, part) - peakOf(alone, part);
  return [
    measured(name("how long the flood takes (baseline: without it)"), msOf(stalled), "ms", {
      baseline: msOf(alone),
      ratioAtMost: 1.3,
    }),
    measured(name("lag of another reader, p50"), lagOf(stalled, 0.5), "ms", { baseline: lagOf(alone, 0.5) }),
    measured(name("lag of another reader, p99"), lagOf(stalled, 0.99), "ms", { baseline: lagOf(alone, 0.99) }),
    measured(name("more memory of the sidecar at its peak"), more("servingMiB") + more("supervisingMiB"), "MiB", {
      atMost: 16,
    }),
    measured(
      name("memory of the sidecar at its peak"),
      peakOf(stalled, "servingMiB") + peakOf(stalled, "supervisingMiB"),
      "MiB",
      {
        baseline: peakOf(alone, "servingMiB") + peakOf(alone, "supervisingMiB"),
      },
    ),
    measured(name("more memory of tmux at its peak"), more("tmuxMiB"), "MiB", { atMost: 30 }),
    measured(name("bytes that the stalled reader neither got nor was notified of"), unnamed, "bytes", { atMost: 0 }),
  ];
}

async function flood(pane: WatchedBySidecar, bytes: number): Promise<Flood> {
  const from = pane.marks.length;
  const samples: Sample[] = [];
  const stop = new AbortController();
  const sampling = (async () => {
    while (!stop.signal.aborted) {
      samples.push(takeSample(pane.sidecar, 0));
      await sleep(SAMPLE_MS, undefined, { signal: stop.signal }).catch(() => {});
    }
  })();
  const written = await pane.writer.tickingFlood(bytes);
  await until(
    "the end of the flood",
    60_000,
    () => pane.marks.slice(from).some(({ kind }) => kind === "end") || undefined,
  );
  stop.abort();
  await sampling;
  const ticks = pane.marks.slice(from).filter(({ kind }) => kind === "tick");
  const peakOf = (part: keyof Flood["peak"]) =>
    Math.max(...samples.map((sample) => sample[part]).filter(Number.isFinite));
  return {
    writerMs: written.endedAt - written.startedAt,
    lagsMs: ticks.map(({ readAt, writtenAt }) => readAt - writtenAt),
    peak: { servingMiB: peakOf("servingMiB"), supervisingMiB: peakOf("supervisingMiB"), tmuxMiB: peakOf("tmuxMiB") },
  };
}

/** A reader on a connection of its own; it reads the beginning, and then stops until its losses are queried. */
async function stalledReader(sidecar: RunningSidecar) {
  const connection = sidecarTransport({ baseUrl: sidecar.url });
  const client = createClient(SidecarService, connection.transport);
  const stop = new AbortController();
  const updates = client
    .watchOutput({ mode: WatchMode.RAW, intervalMs: 10 }, { signal: stop.signal })
    [Symbol.asyncIterator]();
  const first = (await updates.next()).value as SidecarOutputUpdate;
  return {
    /** Reads to the end of the available output, and counts the bytes that are missing or repeated without a notice. */
    unnamedBytes: async (): Promise<number> => {
      const { offset: end } = await client.peek({ lines: 1 });
      let at = first.offset;
      let unnamed = 0n;
      while (at < end) {
        const { done, value } = await updates.next();
        if (done === true) throw new Error("the stalled reader's stream ended");
        if (value.gap !== undefined) at = value.gap.to;
        if (value.kind === UpdateKind.SNAPSHOT) at = value.offset;
        if (value.kind !== UpdateKind.CHANGE) continue;
        unnamed += value.offset > at ? value.offset - at : at - value.offset;
        at = value.offset + BigInt(value.data.length);
      }
      return Number(unnamed);
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await updates.next().catch(() => {});
      connection[Symbol.dispose]();
    },
  };
}

/** Measures the time until a program that floods its terminal sees the Ctrl-C. */
async function measureInterrupts(context: BenchContext): Promise<readonly Measured[]> {
  const { quick, signal, say } = context;
  await using stack = new AsyncDisposableStack();
  const pane = stack.use(await watchedBySidecar(context));
  const writer = stack.use(await paneProgram());
  const sandbox = stack.use(await tmuxSandbox({ argv: writer.command, cols: 160, rows: 50 }));
  const person = stack.use(openAttach(pane.sidecar.client));
  await until("the attached terminal", 10_000, () => person.bytes() > 0 || undefined);
  const ways = new Map<
    string,
    { readonly writer: PaneProgram; readonly press: () => Promise<unknown>; readonly ms: number[] }
  >([
    ["SendKeys", { writer: pane.writer, press: () => pane.sidecar.client.sendKeys({ keys: ["C-c"] }), ms: [] }],
    ["attach", { writer: pane.writer, press: async () => person.type("\x03"), ms: [] }],
    [
      "tmux",
      {
        writer,
        press: () => run("tmux", ["-N", "-S", sandbox.socketPath, "send-keys", "-t", "=claude:", "C-c"]),
        ms: [],
      },
    ],
  ]);
  const arms = [...ways].map(([name, way]) => async (round: number) => {
    say(`stalled: Ctrl-C ${round + 1}, ${name}`);
    const interrupted = way.writer.floodUntilInterrupted();
    await sleep(700);
    const pressedAt = Number(process.hrtime.bigint()) / 1e6;
    await way.press();
    way.ms.push((await interrupted).endedAt - pressedAt);
  });
  await interleave(quick ? 3 : 15, arms, signal);
  const baseline = ways.get("tmux")?.ms ?? [];
  return ["SendKeys", "attach"].flatMap((name) => {
    const ms = ways.get(name)?.ms ?? [];
    const what = `Ctrl-C into a flood, through ${name}`;
    return [
      measured(`${what}: p50 (baseline: tmux send-keys)`, median(ms), "ms", { baseline: median(baseline) }),
      measured(`${what}: longest`, Math.max(...ms), "ms", { baseline: Math.max(...baseline) }),
    ];
  });
}
