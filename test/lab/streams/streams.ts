import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kill } from "node:process";
import { seeded } from "../../../bench/stats.ts";
import { startSidecar, until } from "../../support/sidecar/sidecar.ts";
import type { CutReader } from "./cut-reader.ts";
import { SoakEventReader } from "./event-reader.ts";
import { type Printing, printing } from "./printing.ts";
import { type Sample, takeSample } from "./sample.ts";
import { SoakWatcher } from "./watcher.ts";

export interface StreamSoakOptions {
  /** Ends after this time, or after `cuts` cut connections, whichever is first. */
  readonly ms: number;
  readonly cuts: number;
  readonly seed: number;
  /** The mean time between two faults, ms. */
  readonly everyMs: number;
  /** The bundled gt-sidecar; undefined: its sources. */
  readonly program: string | undefined;
  /** A file that gets a line of JSON every ten seconds. */
  readonly samples?: string | undefined;
  readonly say: (text: string) => void;
}

export interface StreamSoakResult {
  /** How often each fault was injected. */
  readonly done: Readonly<Record<Fault, number>>;
  /** The number of printed bytes. */
  readonly printed: number;
  /** The number of bytes that were checked, over all watchers. */
  readonly checked: number;
  /** The number of events that were received, over all event readers. */
  readonly events: number;
  readonly connects: number;
  readonly gaps: Readonly<Record<string, number>>;
  /** One line for each fault that was found: bytes or events that came twice, differ, or are missing without a gap. */
  readonly faults: readonly string[];
  readonly samples: readonly Sample[];
}

type Fault = "cut" | "kill" | "pause" | "flood" | "restart";

/** The share of each fault, in percent. */
const SHARES: readonly (readonly [Fault, number])[] = [
  ["cut", 86],
  ["pause", 6],
  ["flood", 4],
  ["kill", 3],
  ["restart", 1],
];
const WATCHERS = 4;
const PACE = 60_000;
const FLOOD_BYTES = 6_000_000;
const PAUSE_MS = 4000;
const SAMPLE_MS = 10_000;
/** After a kill, the serving half is left alone for this long. */
const REST_MS = 2500;
const CATCH_UP_MS = 120_000;
const STILL_MS = 3000;

/**
 * Cuts off and stalls readers of output and of events, lets them resume, kills the serving half, restarts the agent and
 * floods the output; judges what the readers received.
 */
export async function soakStreams(options: StreamSoakOptions, signal: AbortSignal): Promise<StreamSoakResult> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-soak-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const printer = stack.use(await printing(dir, PACE));
  const { program } = options;
  const sidecar = stack.use(
    await startSidecar({ agent: "generic", command: printer.command, flags: ["--restart", "always"], program }),
  );
  const watchers: SoakWatcher[] = [];
  for (let i = 0; i < WATCHERS; i++) {
    watchers.push(stack.use(await SoakWatcher.open(sidecar.host, sidecar.port, i % 2 === 0 ? "connect" : "grpc")));
  }
  const listeners = [
    stack.use(await SoakEventReader.open(sidecar.host, sidecar.port, "connect", "")),
    stack.use(await SoakEventReader.open(sidecar.host, sidecar.port, "grpc", "soak")),
  ];
  const readers: readonly CutReader[] = [...watchers, ...listeners];
  const done: Record<Fault, number> = { cut: 0, kill: 0, pause: 0, flood: 0, restart: 0 };
  const random = seeded(options.seed);
  const samples: Sample[] = [];
  const record = options.samples === undefined ? undefined : createWriteStream(options.samples);
  const startedAt = performance.now();
  let sampledAt = startedAt;
  let killedAt = Number.NEGATIVE_INFINITY;
  while (performance.now() - startedAt < options.ms && done.cut < options.cuts && !signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, 2 * options.everyMs * random()));
    // A short run includes a kill too.
    const fault = done.kill === 0 && done.cut >= options.cuts / 2 ? "kill" : chosen(random());
    const now = performance.now();
    if (now - sampledAt >= SAMPLE_MS) {
      const sample = takeSample(sidecar, (now - startedAt) / 1000);
      samples.push(sample);
      record?.write(`${JSON.stringify({ ...sample, done, printed: printer.position })}\n`);
      sampledAt = now;
    }
    const reader = readers[Math.floor(random() * readers.length)];
    const isSettled = now - killedAt >= REST_MS && watchers.some(({ isServed }) => isServed);
    // A fault before the recovery from the previous one would show nothing.
    if (fault === "cut" ? reader?.isServed !== true : fault !== "pause" && !isSettled) continue;
    done[fault]++;
    if (fault === "kill") {
      kill(sidecar.servingPid(), "SIGKILL");
      for (const each of readers) each.deserted();
      killedAt = now;
    } else perform(fault, reader, printer, random());
  }
  options.say(`streams: ${done.cut} cuts, ${done.kill} kills; waiting for the watchers to catch up`);
  const faults = [...(await caughtUp(watchers, printer)), ...(await heardOut(listeners))];
  record?.end();
  return resultOf(watchers, listeners, { done, printed: printer.position, faults, samples });
}

function chosen(share: number): Fault {
  let left = share * 100;
  for (const [fault, weight] of SHARES) {
    left -= weight;
    if (left < 0) return fault;
  }
  return "cut";
}

function perform(fault: Fault, reader: CutReader | undefined, printer: Printing, random: number): void {
  if (fault === "cut") reader?.cut();
  if (fault === "pause") reader?.pause(PAUSE_MS * (0.25 + random));
  if (fault === "flood") printer.flood(Math.round(FLOOD_BYTES * (0.2 + random)));
  if (fault === "restart") printer.end();
}

/**
 * Waits until every printed byte has reached the watchers or is reported to them in a gap. Returns the position of each
 * watcher if that takes too long.
 */
async function caughtUp(watchers: readonly SoakWatcher[], printer: Printing): Promise<readonly string[]> {
  printer.pace(0);
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * 1.5));
  const before = printer.position;
  try {
    await until("the last lines to be printed", CATCH_UP_MS, () => {
      if (printer.position > before) return true;
      printer.flood(1000); // the bytes after a gap identify the position
      return undefined;
    });
    await until("the watchers to catch up", CATCH_UP_MS, () => {
      return watchers.every(({ stream }) => stream.position === printer.position) || undefined;
    });
    return [];
  } catch {
    return watchers.map(({ stream }, i) => `watcher ${i} has reached ${stream.position} of ${printer.position}`);
  }
}

/** Waits until the event readers have reached the same event and no more events come. */
async function heardOut(listeners: readonly SoakEventReader[]): Promise<readonly string[]> {
  let before: bigint[] = [];
  let equalSince = performance.now();
  try {
    await until("the event readers to catch up", CATCH_UP_MS, () => {
      const seqs = listeners.map(({ seq }) => seq);
      const isStill = seqs.every((seq, i) => seq === before[i] && seq === seqs[0]);
      if (!isStill) equalSince = performance.now();
      before = seqs;
      return performance.now() - equalSince >= STILL_MS || undefined;
    });
    return [];
  } catch {
    return [`the event readers have reached ${before.join(" and ")}`];
  }
}

function resultOf(
  watchers: readonly SoakWatcher[],
  listeners: readonly SoakEventReader[],
  rest: Pick<StreamSoakResult, "done" | "printed" | "faults" | "samples">,
): StreamSoakResult {
  const gaps: Record<string, number> = {};
  for (const each of [...watchers.map(({ stream }) => stream), ...listeners]) {
    for (const [reason, count] of Object.entries(each.gaps)) gaps[reason] = (gaps[reason] ?? 0) + count;
  }
  return {
    ...rest,
    checked: watchers.reduce((sum, { stream }) => sum + stream.checked, 0),
    events: listeners.reduce((sum, { events }) => sum + events, 0),
    connects: [...watchers, ...listeners].reduce((sum, { connects }) => sum + connects, 0),
    gaps,
    faults: [
      ...rest.faults,
      ...watchers.flatMap(({ stream }, i) => stream.faults.map((text) => `watcher ${i}: ${text}`)),
      ...listeners.flatMap(({ faults }, i) => faults.map((text) => `event reader ${i}: ${text}`)),
    ],
  };
}
