import { afterEach, beforeEach, expect } from "vitest";
import { OutputStream } from "../../../internal/pane/screen/output.ts";
import { Peeker } from "../../../internal/pane/screen/peek.ts";
import { WatchHub } from "../../../internal/pane/watch/watch-hub.ts";
import type { WatchSink } from "../../../internal/pane/watch/watch-sink.ts";
import type { WatchRequest, WatchUpdate } from "../../../internal/session/types.ts";
import { FakeClock, settle } from "../fake-clock.ts";

export const screenRequest: WatchRequest = { mode: "screen", lines: 0, intervalMs: 0, ansi: false, epoch: "" };
export const rawRequest: WatchRequest = { ...screenRequest, mode: "raw" };

/** A connection that accepts data when the test says so. */
export class FakeSink implements WatchSink<WatchUpdate> {
  readonly sent: WatchUpdate[] = [];
  isStalled = false;
  backlog = 0;
  #onDrain: (() => void) | undefined;

  send(update: WatchUpdate): void {
    this.sent.push(update);
    if (this.isStalled) this.backlog += update.data.length + update.output.length;
  }

  onDrain(fn: () => void): void {
    this.#onDrain = fn;
  }

  drain(): void {
    this.backlog = 0;
    this.isStalled = false;
    const fn = this.#onDrain;
    this.#onDrain = undefined;
    fn?.();
  }
}

export let clock: FakeClock;
export let output: OutputStream;
let ended: string | undefined;
export let encoded: number;
let hub: WatchHub<WatchUpdate>;
let stop: AbortController;
/** Call once in each file that uses this. */
export function useWatchBed(): void {
  beforeEach(async () => {
    clock = new FakeClock();
    output = new OutputStream({ clock }, { cols: 20, rows: 4, rawBytes: 1_000_000, epoch: "e1", startOffset: 0n });
    await output.resumeFrom({ text: "", cols: 20, rows: 4, hasHistory: true });
    ended = undefined;
    encoded = 0;
    stop = new AbortController();
    const alive = () => ended === undefined;
    const peeker = new Peeker({
      clock,
      output,
      pane: () => undefined,
      paneForPeek: () => () => Promise.resolve(undefined),
      alive,
    });
    hub = new WatchHub({ clock, output, peeker, alive, ended: () => ended }, (update) => {
      encoded++;
      return update;
    });
  });
  afterEach(async () => {
    stop.abort(new Error("the test is over"));
    await settle();
    await clock.advance(2000);
    expect(clock.sleeping).toBe(0);
  });
}

/** A watcher: its first and later updates, and the end of its stream. */
export async function watcher(request: WatchRequest, signal: AbortSignal = stop.signal) {
  const sink = new FakeSink();
  const { first, rest } = await hub.watch(request, signal);
  const done = rest(sink);
  done.catch(() => {});
  return { sink, first, done, all: () => [first, ...sink.sent] };
}

export async function printOutput(text: string): Promise<void> {
  output.take(Buffer.from(text));
  const drawn = output.drawn();
  await (text.length > 200_000 ? clock.until(drawn) : drawn); // a flood is drawn with pauses
}

export function end(reason: string): void {
  ended = reason;
  output.bytes.notify();
  output.screens.notify();
}

/** The bytes of a RAW stream; throws if an offset does not follow the previous one and no gap says so. */
export function assembled(updates: readonly WatchUpdate[]): {
  readonly text: string;
  readonly gaps: readonly unknown[];
} {
  const gaps: unknown[] = [];
  let due: bigint | undefined;
  let text = "";
  for (const update of updates) {
    if (update.kind === "snapshot") {
      if (due !== undefined && update.offset !== due && update.gap?.first !== due) throw new Error("an unnamed hole");
      if (update.gap !== undefined) gaps.push([update.gap.first, update.gap.to, update.gap.reason]);
      due = update.offset;
      continue;
    }
    if (update.offset !== due) throw new Error(`offset ${update.offset} where ${due} was due`);
    text += Buffer.from(update.data).toString("latin1");
    due += BigInt(update.data.length);
  }
  return { text, gaps };
}
