import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import type { WatchRequest, WatchUpdate } from "../../session/types.ts";
import { OutputStream } from "../screen/output.ts";
import { Peeker } from "../screen/peek.ts";
import { WatchHub } from "./watch-hub.ts";
import { WATCH_BACKLOG_BYTES, type WatchSink } from "./watch-sink.ts";

const screenRequest: WatchRequest = { mode: "screen", lines: 0, intervalMs: 0, ansi: false, epoch: "" };
const rawRequest: WatchRequest = { ...screenRequest, mode: "raw" };

let clock: FakeClock;
let output: OutputStream;
let ended: string | undefined;
let stop: AbortController;
beforeEach(async () => {
  clock = new FakeClock();
  output = new OutputStream({ clock }, { cols: 20, rows: 4, rawBytes: 100_000, epoch: "e1", startOffset: 9n });
  await output.resumeFrom({ text: "", cols: 20, rows: 4, hasHistory: true }); // the screen is known
  ended = undefined;
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort(new Error("the test is over"));
  await settle();
  await clock.advance(2000);
  expect(clock.sleeping).toBe(0);
});

/** One watcher's updates, one at a time: while one waits to be taken, no other is made. */
async function* watched(request: WatchRequest): AsyncGenerator<WatchUpdate, void, undefined> {
  const alive = () => ended === undefined;
  const paneForPeek = () => () => Promise.resolve(undefined);
  const peeker = new Peeker({ clock, output, pane: () => undefined, paneForPeek, alive });
  const hub = new WatchHub({ clock, output, peeker, alive, ended: () => ended }, (update) => update);
  const { first, rest } = await hub.watch(request, stop.signal);
  yield first;
  const inbox = new Inbox();
  const over = rest(inbox).then(() => undefined);
  over.catch(() => {}); // thrown where it is waited for
  for (let next = await Promise.race([inbox.next(), over]); next !== undefined; ) {
    yield next;
    next = await Promise.race([inbox.next(), over]);
  }
}

class Inbox implements WatchSink<WatchUpdate> {
  #waiting: WatchUpdate | undefined;
  #onDrain = () => {};
  #taker: ((update: WatchUpdate) => void) | undefined;

  get backlog(): number {
    return this.#waiting === undefined ? 0 : WATCH_BACKLOG_BYTES;
  }

  send(update: WatchUpdate): void {
    const taker = this.#taker;
    this.#taker = undefined;
    if (taker === undefined) this.#waiting = update;
    else taker(update);
  }

  onDrain(fn: () => void): void {
    this.#onDrain = fn;
  }

  async next(): Promise<WatchUpdate> {
    const update = this.#waiting;
    this.#waiting = undefined;
    if (update !== undefined) {
      this.#onDrain();
      return update;
    }
    return await new Promise((resolve) => {
      this.#taker = resolve;
    });
  }
}

async function print(text: string): Promise<void> {
  output.take(Buffer.from(text));
  await output.drawn();
}

async function nextOf(updates: AsyncGenerator<WatchUpdate>): Promise<WatchUpdate> {
  const { value, done } = await clock.until(updates.next());
  if (done) throw new Error("the stream has ended");
  return value;
}

function end(reason: string): void {
  ended = reason;
  output.bytes.notify();
  output.screens.notify();
}

const both = Object.entries({ SCREEN: screenRequest, RAW: rawRequest });
it.each(both)("%s: an end between two looks is reported at once", async (_, request) => {
  const updates = watched(request);
  await nextOf(updates);
  const changed = updates.next();
  await clock.advance(2000);
  await print("news");
  expect(await changed).toMatchObject({ value: { kind: "change" } });
  await settle(); // the pause that follows an update has begun
  const over = untilEnd(updates);
  await clock.advance(20);
  end("over");
  expect(await isReady(over)).toBe(true);
  expect(await over).toBe("over");
});

async function untilEnd(updates: AsyncGenerator<WatchUpdate>): Promise<string> {
  for await (const { kind, endReason } of updates) if (kind === "end") return endReason;
  throw new Error("the stream has no end");
}

/** True if the next update has come without any time having passed. */
async function isReady(next: Promise<unknown>): Promise<boolean> {
  let ready = false;
  void next.then(() => {
    ready = true;
  });
  for (let i = 0; i < 5; i++) await settle();
  return ready;
}

describe("a screen watch", () => {
  it("sends the screen at once, even an empty one", async () => {
    const first = await nextOf(watched(screenRequest));
    expect(first).toMatchObject({
      kind: "snapshot",
      output: "",
      alive: true,
      epoch: "e1",
      offset: 10n,
      cols: 20,
      rows: 4,
    });
    expect(clock.monotonicMs()).toBe(0);
  });

  it("waits a moment for the first screen of a process that has just started", async () => {
    output = new OutputStream({ clock }, { cols: 20, rows: 4, rawBytes: 1000, epoch: "e2", startOffset: 0n });
    for (const request of [screenRequest, rawRequest]) {
      const next = watched(request).next();
      await clock.advance(100);
      expect(await isReady(next)).toBe(request === rawRequest); // the second comes when the screen is known
      await output.resumeFrom({ text: "here it is", cols: 20, rows: 4, hasHistory: true });
      const { value } = await clock.until(next);
      expect(value?.kind === "snapshot" && value.output + Buffer.from(value.data)).toContain("here it is");
    }
  });

  it("sends the last lines completely, and only if they have changed", async () => {
    await print("one\r\ntwo\r\nthree");
    const updates = watched({ ...screenRequest, lines: 2 });
    expect(await nextOf(updates)).toMatchObject({ kind: "snapshot", output: "two\nthree" });
    const next = updates.next();
    await print("\x1b[1m\x1b[0m"); // changes nothing that is shown
    await clock.advance(5000);
    expect(await isReady(next)).toBe(false);
    await print("!");
    await clock.advance(200);
    expect((await next).value).toMatchObject({ kind: "change", output: "two\nthree!" });
  });

  it.each([
    [0, 100],
    [1, 10],
    [500, 500],
  ])("uses an interval of %i ms between two updates as %i ms", async (intervalMs, leastMs) => {
    const updates = watched({ ...screenRequest, intervalMs });
    await nextOf(updates);
    const next = updates.next();
    await settle();
    await print("x");
    await clock.advance(leastMs - 1);
    expect(await isReady(next)).toBe(false);
    await clock.advance(1);
    expect(await isReady(next)).toBe(true);
  });

  it("sends heartbeats although nothing changes", async () => {
    const updates = watched(screenRequest);
    await nextOf(updates);
    expect(await nextOf(updates)).toMatchObject({ kind: "heartbeat", output: "" });
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(15_000);
    expect(clock.monotonicMs()).toBeLessThan(16_500);
    const next = updates.next();
    await print("x");
    await clock.advance(1200);
    expect((await next).value).toMatchObject({ kind: "change", output: "x" });
  });

  it("sends the last screen and then the reason for the end", async () => {
    const updates = watched(screenRequest);
    await nextOf(updates);
    const next = updates.next();
    await print("last words");
    end("the agent has ended");
    await clock.advance(200);
    expect((await next).value).toMatchObject({ kind: "change", output: "last words", alive: false });
    expect(await nextOf(updates)).toMatchObject({
      kind: "end",
      endReason: "the agent has ended",
      output: "last words",
    });
    expect((await updates.next()).done).toBe(true);
  });

  it("refuses more than 100,000 lines", async () => {
    await expect(watched({ ...screenRequest, lines: 100_001 }).next()).rejects.toMatchObject({ kind: "invalid" });
  });

  it("ends with the caller", async () => {
    const updates = watched(screenRequest);
    await nextOf(updates);
    const next = updates.next();
    await settle();
    stop.abort(new Error("gone"));
    await expect(next).rejects.toThrow("gone");
  });
});

describe("a raw watch", () => {
  it("begins with a redraw of the screen, and the offset of the next byte", async () => {
    await print("hello");
    const updates = watched(rawRequest);
    const first = await nextOf(updates);
    expect(first).toMatchObject({ kind: "snapshot", offset: 15n });
    expect(first.gap).toBeUndefined();
    const other = new OutputStream({ clock }, { cols: 20, rows: 4, rawBytes: 9000, epoch: "x", startOffset: 0n });
    other.take(first.data);
    await other.drawn();
    expect(other.emulator.screen().lines[0]?.text).toBe("hello");
    const next = updates.next();
    await print("more");
    expect((await clock.until(next)).value).toMatchObject({ kind: "change", offset: 15n, data: Buffer.from("more") });
  });

  it("sends every byte once and in order, however the output is split", async () => {
    const updates = watched(rawRequest);
    await nextOf(updates);
    let sent = "";
    const next = collect(updates, 200_000 / 4);
    for (let i = 0; sent.length < 50_000; i++) {
      const piece = `${i},`.repeat(1 + (i % 900));
      sent += piece;
      await print(piece);
      await clock.advance(i % 150);
    }
    expect(await clock.until(next)).toBe(sent.slice(0, 50_000));
  });

  async function collect(updates: AsyncGenerator<WatchUpdate>, bytes: number): Promise<string> {
    let text = "";
    let due = 10n;
    while (text.length < bytes) {
      const { value } = await updates.next();
      if (value === undefined || value.kind === "heartbeat") continue;
      expect(value.offset).toBe(due);
      text += Buffer.from(value.data).toString();
      due += BigInt(value.data.length);
    }
    return text.slice(0, bytes);
  }

  it("reports the bytes that a slow reader missed, and shows the current screen", async () => {
    const updates = watched(rawRequest);
    await nextOf(updates);
    for (let i = 0; i < 20; i++) await print("x".repeat(9000));
    await print("\r\nnow");
    const update = await nextOf(updates);
    expect(update).toMatchObject({
      kind: "snapshot",
      offset: output.ring.end,
      gap: { first: 10n, to: output.ring.end, reason: "slow-reader" },
    });
    expect(Buffer.from(update.data).toString()).toContain("now");
  });

  it("reports an interruption of the stream", async () => {
    await print("abc");
    const updates = watched(rawRequest);
    await nextOf(updates);
    await output.resumeFrom({ text: "new", cols: 20, rows: 4, hasHistory: true });
    await print("d");
    expect(await nextOf(updates)).toMatchObject({
      kind: "snapshot",
      offset: 15n,
      gap: { first: 13n, to: 15n, reason: "restart" },
    });
  });

  describe("that resumes", () => {
    it("continues without a snapshot from its offset", async () => {
      await print("hello there");
      const updates = watched({ ...rawRequest, epoch: "e1", afterOffset: 16n });
      expect(await nextOf(updates)).toMatchObject({ kind: "change", offset: 16n, data: Buffer.from("there") });
    });

    it("at the end of the output gets the next bytes", async () => {
      await print("hello");
      const updates = watched({ ...rawRequest, epoch: "e1", afterOffset: 15n });
      expect(await nextOf(updates)).toMatchObject({ kind: "heartbeat", offset: 15n });
      const next = updates.next();
      await settle();
      await print("!");
      expect((await clock.until(next)).value).toMatchObject({ kind: "change", offset: 15n, data: Buffer.from("!") });
    });

    it("after an eviction gets the gap", async () => {
      for (let i = 0; i < 20; i++) await print("x".repeat(9000));
      const updates = watched({ ...rawRequest, epoch: "e1", afterOffset: 12n });
      const { gap, kind } = await nextOf(updates);
      expect([kind, gap]).toEqual(["snapshot", { first: 12n, to: output.ring.end, reason: "evicted" }]);
    });

    it("from another epoch gets a gap", async () => {
      await print("hello");
      const updates = watched({ ...rawRequest, epoch: "e0", afterOffset: 99n });
      expect(await nextOf(updates)).toMatchObject({ kind: "snapshot", gap: { first: 99n, reason: "restart" } });
    });

    it("from an offset after the end is refused, with the epoch and the head", async () => {
      const next = watched({ ...rawRequest, epoch: "e1", afterOffset: 11n }).next();
      await expect(next).rejects.toMatchObject({ kind: "precondition", fields: { epoch: "e1", head: "10" } });
    });
  });

  it("sends heartbeats although nothing is printed", async () => {
    const updates = watched(rawRequest);
    await nextOf(updates);
    expect(await nextOf(updates)).toMatchObject({ kind: "heartbeat", offset: 10n });
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(15_000);
    expect(clock.monotonicMs()).toBeLessThan(16_500);
  });

  it("sends the last bytes before the end", async () => {
    const updates = watched(rawRequest);
    await nextOf(updates);
    await print("bye");
    end("the agent has ended");
    expect(await nextOf(updates)).toMatchObject({ kind: "change", data: Buffer.from("bye") });
    expect(await nextOf(updates)).toMatchObject({ kind: "end", offset: 13n, endReason: "the agent has ended" });
    expect((await updates.next()).done).toBe(true);
  });
});
