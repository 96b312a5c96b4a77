import { createClient } from "@connectrpc/connect";
import { systemClock } from "../internal/base/clock.ts";
import { MachineTime } from "../internal/base/machine-time.ts";
import { presentBoot } from "../internal/base/present-boot.ts";
import { DEFAULT_REDACT_PATTERNS, Redactor } from "../internal/base/redact.ts";
import { SidecarService } from "../internal/gen/gastown/v1/sidecar_pb.ts";
import { Emulator } from "../internal/pane/screen/emulator.ts";
import { sidecarTransport } from "../internal/rpc/client/transport.ts";
import { RpcServer } from "../internal/rpc/server/server.ts";
import { SessionEvents } from "../internal/session/events.ts";
import { OutputText } from "../internal/session/output-text.ts";
import { FinalLines } from "../internal/sidecar/events/final-lines.ts";
import { eventMethods } from "../internal/sidecar/serving/event-service.ts";
import { silentLogger } from "../test/support/silent-logger.ts";
import type { BenchContext } from "./context.ts";
import { type Measured, measured } from "./report/row.ts";
import { interleave, median } from "./stats.ts";

const MEGABYTE = 1_000_000;
const HELD = 10_000;

/** Measures, in this process, the cost of adding and delivering an event, and of making lines of the output. */
export async function measureEvents({ quick, signal, say, note }: BenchContext): Promise<readonly Measured[]> {
  const rounds = quick ? 2 : 5;
  const added: number[] = [];
  const delivered: Delivery[] = [];
  const lines = new Map<boolean, number[]>([
    [true, []],
    [false, []],
  ]);
  const text = outputOf(quick ? 4 * MEGABYTE : 8 * MEGABYTE);
  const add = async () => void added.push(addCost(quick ? 50_000 : 200_000));
  const deliver = async () => void delivered.push(await deliveryOf(signal));
  const draw = (withLines: boolean) => async () => void lines.get(withLines)?.push(await drawCost(text, withLines));
  say("events: adding, delivering, making lines of output");
  await interleave(rounds, [add, deliver, draw(true), draw(false)], signal);
  note("Events are delivered within one process: the CPU is that of the server and the reader together.");
  const of = (key: keyof Delivery) => median(delivered.map((each) => each[key]));
  return [
    measured("events: CPU to add one to the log", median(added), "µs"),
    measured("events: delivered to one reader, plaintext", of("perSecond"), "events/s"),
    measured("events: CPU to deliver one, both sides", of("cpuMicros"), "µs"),
    measured(
      "events: CPU to draw output and make lines of it (baseline: to draw it)",
      median(lines.get(true) ?? []),
      "ms/MB",
      {
        baseline: median(lines.get(false) ?? []),
      },
    ),
  ];
}

interface Delivery {
  readonly perSecond: number;
  readonly cpuMicros: number;
}

function newEvents(): SessionEvents {
  const time = new MachineTime(systemClock, presentBoot());
  const deps = { clock: systemClock, time, redactor: new Redactor(DEFAULT_REDACT_PATTERNS), keep: () => true };
  return new SessionEvents(
    deps,
    { eventBuffer: HELD, eventBytes: 64 * MEGABYTE },
    { cursors: [], standing: { lines: [] } },
  );
}

/** CPU of adding one event, microseconds; the log is full most of the time. */
function addCost(count: number): number {
  const events = newEvents();
  const cpu = process.cpuUsage();
  for (let i = 0; i < count; i++) events.phase("busy", i);
  return cpuMicrosSince(cpu) / count;
}

async function deliveryOf(signal: AbortSignal): Promise<Delivery> {
  const events = newEvents();
  for (let i = 0; i < HELD; i++) events.phase("busy", i);
  const stop = new AbortController();
  const identity = { sessionId: "s", project: "p", address: "a" };
  const methods = eventMethods({ clock: systemClock, events, identity, provider: "demo" });
  const server = new RpcServer(
    { clock: systemClock, logger: silentLogger },
    { host: "127.0.0.1", port: 0, routes: (router) => void router.service(SidecarService, methods), graceMs: 0 },
  );
  const serving = server.run(AbortSignal.any([signal, stop.signal]));
  const { port } = await server.listening;
  using connection = sidecarTransport({ baseUrl: `http://127.0.0.1:${port}` });
  try {
    const client = createClient(SidecarService, connection.transport);
    const startedAt = performance.now();
    const cpu = process.cpuUsage();
    let count = 0;
    const reading = new AbortController();
    for await (const _ of client.streamEvents({}, { signal: reading.signal })) if (++count === HELD) break;
    reading.abort();
    const ms = performance.now() - startedAt;
    return { perSecond: (count / ms) * 1000, cpuMicros: cpuMicrosSince(cpu) / count };
  } finally {
    stop.abort();
    connection[Symbol.dispose]();
    await serving;
  }
}

/**
 * CPU of drawing the output, milliseconds per megabyte. `withLines`: also of making its lines and the text of events.
 */
async function drawCost(output: Buffer, withLines: boolean): Promise<number> {
  const emulator = new Emulator({ cols: 160, rows: 50, scrollback: 1000 });
  let chars = 0;
  if (withLines) {
    const emit = (text: string) => {
      chars += text.length;
    };
    const text = new OutputText({ clock: systemClock, redactor: new Redactor(DEFAULT_REDACT_PATTERNS), emit });
    const lines = new FinalLines((more) => text.push(more));
    const ignored = { overflowed: () => {}, vanished: () => false, erasing: () => {}, cleared: () => {} };
    emulator.listen({ ...ignored, scrolled: (more) => lines.scrolled(more) });
  }
  const cpu = process.cpuUsage();
  for (let at = 0; at < output.length; at += 16_384) await emulator.write(output.subarray(at, at + 16_384));
  const ms = cpuMicrosSince(cpu) / 1000;
  if (withLines && chars < output.length / 2) throw new Error("the lines are missing");
  return ms / (output.length / MEGABYTE);
}

function outputOf(bytes: number): Buffer {
  const lines: string[] = [];
  const line = "the quick brown fox jumps over the lazy dog, many times";
  for (let size = 0, i = 0; size < bytes; size += line.length + 9, i++)
    lines.push(`${String(i).padStart(6, "0")} ${line}\r\n`);
  return Buffer.from(lines.join(""));
}

function cpuMicrosSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
