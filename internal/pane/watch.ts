import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { OutputStream } from "./output.ts";
import { FIRST_SCREEN_MS, type Peeker } from "./peek.ts";
import type { Gap, WatchRequest, WatchUpdate } from "./types.ts";

const WATCH_DEFAULT_INTERVAL_MS = 100;
const WATCH_MIN_INTERVAL_MS = 10;
/** A watcher of a silent agent hears this often that the connection lives. */
const HEARTBEAT_MS = 15_000;
/** The most bytes one RAW update carries. */
const RAW_CHUNK_BYTES = 64 * 1024;

export interface WatchDeps {
  readonly clock: Clock;
  readonly output: OutputStream;
  readonly peeker: Peeker;
  readonly alive: () => boolean;
  /** Set once nothing more will come: why. */
  readonly ended: () => string | undefined;
}

/** Updates of one agent's terminal until the caller leaves, `signal` aborts or the agent has ended for good. */
export function watch(deps: WatchDeps, request: WatchRequest, signal: AbortSignal): AsyncGenerator<WatchUpdate> {
  const intervalMs =
    request.intervalMs <= 0 ? WATCH_DEFAULT_INTERVAL_MS : Math.max(WATCH_MIN_INTERVAL_MS, request.intervalMs);
  return request.mode === "raw"
    ? watchRaw(deps, request, intervalMs, signal)
    : watchScreen(deps, request, intervalMs, signal);
}

/** The last lines, whole, each time they differ from what was sent. */
async function* watchScreen(deps: WatchDeps, request: WatchRequest, intervalMs: number, signal: AbortSignal) {
  const { clock, output, peeker } = deps;
  const wanted = { lines: request.lines, all: false, ansi: request.ansi, joinWrapped: false };
  let sent = "";
  let kind: WatchUpdate["kind"] = "snapshot";
  let sentAt = 0;
  for (;;) {
    const before = output.emulator.version;
    const { output: text } = await peeker.peek(wanted);
    const content = JSON.stringify([text, deps.alive(), output.emulator.cols, output.emulator.rows]);
    const ended = deps.ended();
    if (content !== sent || clock.monotonicMs() - sentAt >= HEARTBEAT_MS) {
      if (content === sent) kind = "heartbeat";
      yield { ...facts(deps), kind, output: text, data: NO_BYTES };
      [sent, sentAt, kind] = [content, clock.monotonicMs(), "change"];
    }
    if (ended !== undefined) {
      yield { ...facts(deps), kind: "end" as const, output: text, data: NO_BYTES, endReason: ended };
      return;
    }
    await clock.sleep(intervalMs, signal);
    if (output.emulator.version === before) await output.changed(1000, signal);
  }
}

/** The bytes themselves, each with its offset; a snapshot that redraws the screen first, and again after a hole. */
async function* watchRaw(deps: WatchDeps, request: WatchRequest, intervalMs: number, signal: AbortSignal) {
  const { clock, output } = deps;
  await output.known(FIRST_SCREEN_MS);
  let offset = resumeAt(output, request);
  /** Where it came back: bytes that are missing from there on went before it came. */
  const resumed = offset;
  let gap: Gap | undefined = offset === undefined ? missed(output, request) : undefined;
  let sentAt = clock.monotonicMs();
  for (;;) {
    const data = offset === undefined ? undefined : output.ring.read(offset, RAW_CHUNK_BYTES);
    if (offset === undefined || data === undefined) {
      const first: bigint | undefined = offset;
      await output.isHeld(signal);
      offset = output.drawnTo;
      if (first !== undefined) gap = { first, to: offset, reason: reasonOf(output, first, first === resumed) };
      const redraw = Buffer.from(output.emulator.redraw());
      yield {
        ...facts(deps),
        kind: "snapshot" as const,
        output: "",
        data: redraw,
        offset,
        ...(gap === undefined ? {} : { gap }),
      };
      [gap, sentAt] = [undefined, clock.monotonicMs()];
    } else if (data.length > 0) {
      yield { ...facts(deps), kind: "change" as const, output: "", data, offset };
      offset += BigInt(data.length);
      sentAt = clock.monotonicMs();
      if (offset === output.ring.end) await clock.sleep(intervalMs, signal);
    } else {
      const ended = deps.ended();
      if (ended !== undefined) {
        yield { ...facts(deps), kind: "end" as const, output: "", data: NO_BYTES, offset, endReason: ended };
        return;
      }
      const left = sentAt + HEARTBEAT_MS - clock.monotonicMs();
      if (left <= 0) {
        yield { ...facts(deps), kind: "heartbeat" as const, output: "", data: NO_BYTES, offset };
        sentAt = clock.monotonicMs();
      } else {
        await output.bytes.nextOrAfter(Math.min(left, 1000), clock, signal);
      }
    }
  }
}

/** Where a watcher that comes back goes on; undefined when it starts anew with a snapshot. */
function resumeAt(output: OutputStream, request: WatchRequest): bigint | undefined {
  const { afterOffset } = request;
  if (afterOffset === undefined || request.epoch !== output.epoch) return undefined;
  if (afterOffset > output.ring.end) {
    const fields = { epoch: output.epoch, head: output.ring.end.toString() };
    throw new DomainError(
      "precondition",
      `cannot resume at offset ${afterOffset}: the stream ends at ${output.ring.end}`,
      {
        fields,
      },
    );
  }
  return afterOffset;
}

/** A watcher of another epoch asked to go on: what it misses has no offsets here. */
function missed(output: OutputStream, request: WatchRequest): Gap | undefined {
  if (request.afterOffset === undefined) return undefined;
  return { first: request.afterOffset, to: output.drawnTo, reason: "restart" };
}

function reasonOf(output: OutputStream, first: bigint, cameBack: boolean): Gap["reason"] {
  const restart = output.lastGap;
  const late = cameBack ? "evicted" : "slow-reader";
  return restart !== undefined && first <= restart.first && restart.to <= output.drawnTo ? "restart" : late;
}

const NO_BYTES = new Uint8Array(0);

function facts(deps: WatchDeps): Omit<WatchUpdate, "kind" | "output" | "data" | "gap"> {
  const { emulator, epoch, drawnTo } = deps.output;
  return {
    alive: deps.alive(),
    timestamp: deps.clock.now(),
    epoch,
    offset: drawnTo,
    cols: emulator.cols,
    rows: emulator.rows,
    alternateScreen: emulator.alternate,
    cursorX: emulator.cursor.x,
    cursorY: emulator.cursor.y,
    endReason: "",
  };
}
