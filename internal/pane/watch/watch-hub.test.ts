import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { fc } from "../../../test/support/property.ts";
import type { WatchRequest, WatchUpdate } from "../../session/types.ts";
import { OutputStream } from "../screen/output.ts";
import { Peeker } from "../screen/peek.ts";
import { WatchHub } from "./watch-hub.ts";
import { BACKLOG_BYTES, type WatchSink } from "./watch-sink.ts";

const screenRequest: WatchRequest = { mode: "screen", lines: 0, intervalMs: 0, ansi: false, epoch: "" };
const rawRequest: WatchRequest = { ...screenRequest, mode: "raw" };

/** A connection that takes what it is sent when the test says so. */
class FakeSink implements WatchSink<WatchUpdate> {
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

let clock: FakeClock;
let output: OutputStream;
let ended: string | undefined;
let encoded: number;
let hub: WatchHub<WatchUpdate>;
let stop: AbortController;
beforeEach(async () => {
  clock = new FakeClock();
  output = new OutputStream({ clock }, { cols: 20, rows: 4, rawBytes: 1_000_000, epoch: "e1", startOffset: 0n });
  await output.restart({ text: "", cols: 20, rows: 4, hasHistory: true });
  ended = undefined;
  encoded = 0;
  stop = new AbortController();
  const alive = () => ended === undefined;
  const peeker = new Peeker({ clock, output, pane: () => undefined, alive });
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

/** A watcher: what it was given first and later, and how its stream ended. */
async function watcher(request: WatchRequest, signal: AbortSignal = stop.signal) {
  const sink = new FakeSink();
  const { first, rest } = await hub.watch(request, signal);
  const done = rest(sink);
  done.catch(() => {});
  return { sink, first, done, all: () => [first, ...sink.sent] };
}

async function print(text: string): Promise<void> {
  output.take(Buffer.from(text));
  const drawn = output.drawn();
  await (text.length > 200_000 ? clock.until(drawn) : drawn); // a flood is drawn with pauses
}

function end(reason: string): void {
  ended = reason;
  output.bytes.notify();
  output.screens.notify();
}

/** Bytes of a RAW stream; throws where an offset does not follow the one before and no gap says so. */
function assembled(updates: readonly WatchUpdate[]): { readonly text: string; readonly gaps: readonly unknown[] } {
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

describe("many raw watchers", () => {
  it("get the same bytes, made once", async () => {
    const watchers = await Promise.all(Array.from({ length: 50 }, () => watcher(rawRequest)));
    for (const text of ["one", "two", "three"]) {
      await print(text);
      await clock.advance(200);
    }
    for (const { all } of watchers) expect(assembled(all()).text).toBe("onetwothree");
    expect(encoded).toBe(3);
    expect(watchers[0]?.sink.sent[1]).toBe(watchers[49]?.sink.sent[1]);
  });

  it("are served together although they came at different times and places", async () => {
    const early = await watcher(rawRequest);
    await print("abc");
    await clock.advance(200);
    const late = await watcher({ ...rawRequest, epoch: "e1", afterOffset: 2n });
    await print("def");
    await clock.advance(200);
    expect(assembled(early.all()).text).toBe("abcdef");
    expect(late.all().map((update) => Buffer.from(update.data).toString())).toEqual(["bc", "def"]);
    expect(late.sink.sent[0]).toBe(early.sink.sent[1]);
  });

  it("lose nothing by one that does not read: that one gets no more than its bound, and then the name of what it missed", async () => {
    const [slow, quick] = [await watcher(rawRequest), await watcher(rawRequest)];
    slow.sink.isStalled = true;
    let printed = "";
    for (let i = 0; i < 40; i++) {
      const piece = `${i},`.repeat(20_000);
      printed += piece;
      await print(piece);
      await clock.advance(100);
    }
    expect(assembled(quick.all())).toEqual({ text: printed, gaps: [] });
    expect(slow.sink.backlog).toBeLessThan(BACKLOG_BYTES + 2 * 65_536);
    slow.sink.drain();
    await clock.advance(100);
    const { gaps } = assembled(slow.all());
    expect(gaps).toEqual([[expect.any(BigInt), output.ring.end, "slow-reader"]]);
  });

  it("catch up without a gap when what they missed is still held", async () => {
    const slow = await watcher(rawRequest);
    slow.sink.isStalled = true;
    let printed = "";
    for (let i = 0; i < 9; i++) {
      const piece = `${i},`.repeat(50_000);
      printed += piece;
      await print(piece);
      await clock.advance(100);
    }
    expect(assembled(slow.all()).text.length).toBeLessThan(printed.length);
    slow.sink.drain();
    expect(assembled(slow.all())).toEqual({ text: printed, gaps: [] });
  });

  it("are shown the screen again when the agent begins another life", async () => {
    const one = await watcher(rawRequest);
    await print("last words\x1b[?2004h");
    await output.renew();
    await print("first words");
    await clock.advance(200);
    const reported = one.sink.sent.filter((update) => update.kind !== "heartbeat");
    const kinds = reported.map((update) => [update.kind, Buffer.from(update.data).toString()]);
    expect(kinds).toEqual([
      ["change", "last words\x1b[?2004h"],
      ["snapshot", expect.not.stringContaining("last words")],
      ["change", "first words"],
    ]);
    expect(assembled(one.all()).gaps).toEqual([]);
  });

  it("all hear the end, after the last bytes", async () => {
    const [one, stalled] = [await watcher(rawRequest), await watcher(rawRequest)];
    stalled.sink.isStalled = true;
    await print("x".repeat(300_000));
    await clock.advance(100);
    end("the agent has ended");
    await clock.until(one.done);
    expect(one.sink.sent.at(-1)).toMatchObject({ kind: "end", endReason: "the agent has ended" });
    stalled.sink.drain();
    await stalled.done;
    expect(assembled(stalled.all()).text).toHaveLength(300_000);
  });

  it("leave with their signal, and are sent nothing after it", async () => {
    const own = new AbortController();
    const one = await watcher(rawRequest, own.signal);
    const other = await watcher(rawRequest);
    own.abort(new Error("gone"));
    await expect(one.done).rejects.toThrow("gone");
    await print("later");
    await clock.advance(200);
    expect(one.sink.sent).toEqual([]);
    expect(assembled(other.all()).text).toBe("later");
  });

  it("hear within a quarter of a minute that a silent agent's stream lives", async () => {
    const one = await watcher(rawRequest);
    await clock.advance(16_000);
    expect(one.sink.sent.map((update) => update.kind)).toEqual(["heartbeat"]);
  });
});

describe("many screen watchers", () => {
  it("share each look at the screen; those who want other lines get theirs", async () => {
    const watchers = await Promise.all(Array.from({ length: 20 }, () => watcher(screenRequest)));
    const other = await watcher({ ...screenRequest, lines: 1 });
    await print("one\r\ntwo");
    await clock.advance(300);
    for (const { sink } of watchers) expect(sink.sent).toMatchObject([{ kind: "change", output: "one\ntwo" }]);
    expect(other.sink.sent).toMatchObject([{ kind: "change", output: "two" }]);
    expect(encoded).toBe(2);
  });

  it("who do not read are sent the newest picture once they do", async () => {
    const slow = await watcher(screenRequest);
    slow.sink.backlog = BACKLOG_BYTES;
    for (const text of ["a", "b", "c"]) {
      await print(text);
      await clock.advance(200);
    }
    expect(slow.sink.sent).toEqual([]);
    slow.sink.drain();
    expect(slow.sink.sent).toMatchObject([{ kind: "change", output: "abc" }]);
  });

  it("see the last picture and hear the end", async () => {
    const one = await watcher(screenRequest);
    await print("last words");
    end("the agent has ended");
    await clock.until(one.done);
    expect(one.sink.sent).toMatchObject([
      { kind: "change", output: "last words" },
      { kind: "end", output: "last words", endReason: "the agent has ended" },
    ]);
  });

  it("are told when looking is no longer possible", async () => {
    const one = await watcher(screenRequest);
    const failed = expect(one.done).rejects.toThrow("no look");
    output.changed = () => Promise.reject(new Error("no look"));
    await clock.advance(2000);
    await failed;
  });
});

type Step =
  | { readonly type: "print"; readonly length: number }
  | { readonly type: "wait"; readonly ms: number }
  | { readonly type: "stall"; readonly who: number }
  | { readonly type: "drain"; readonly who: number }
  | { readonly type: "reconnect"; readonly who: number }
  | { readonly type: "restart" }
  | { readonly type: "renew" };

const who = fc.nat(2);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ type: fc.constant("print" as const), length: fc.integer({ min: 1, max: 90_000 }) }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 300 }) }) },
  { weight: 2, arbitrary: who.map((person) => ({ type: "stall" as const, who: person })) },
  { weight: 2, arbitrary: who.map((person) => ({ type: "drain" as const, who: person })) },
  { weight: 2, arbitrary: who.map((person) => ({ type: "reconnect" as const, who: person })) },
  { weight: 1, arbitrary: fc.constantFrom({ type: "restart" as const }, { type: "renew" as const }) },
);

it("gives or names every byte exactly once, whoever stalls, leaves, comes back, and whatever interrupts the stream", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const mine = new OutputStream({ clock }, { cols: 20, rows: 4, rawBytes: 400_000, epoch: "p", startOffset: 0n });
      await mine.restart({ text: "", cols: 20, rows: 4, hasHistory: true });
      const now = { text: "", cols: 20, rows: 4, hasHistory: true };
      mine.lags.listen(() => void mine.redraw(now, mine.ring.end, true));
      const peeker = new Peeker({ clock, output: mine, pane: () => undefined, alive: () => true });
      const all = new WatchHub<WatchUpdate>(
        { clock, output: mine, peeker, alive: () => true, ended: () => undefined },
        (update) => update,
      );
      const people = await Promise.all([0, 1, 2].map(() => Person.come(all, mine)));
      for (const action of steps) await perform(action, mine, people);
      for (const person of people) {
        person.sink.drain();
        await clock.advance(500);
        person.check();
        person.leave();
      }
      await clock.advance(2000);
    }),
    { numRuns: 20 },
  );
});

/** What stands at an offset, so that a wrong place shows as a wrong value. */
const byteAt = (offset: number) => (offset * 31 + (offset >> 8)) & 0x3f;

async function perform(action: Step, mine: OutputStream, people: readonly Person[]): Promise<void> {
  switch (action.type) {
    case "print": {
      const from = Number(mine.ring.end);
      mine.take(Uint8Array.from({ length: action.length }, (_, i) => byteAt(from + i)));
      return;
    }
    case "wait":
      return await clock.advance(action.ms);
    case "restart":
      return await clock.until(mine.restart({ text: "new", cols: 20, rows: 4, hasHistory: true }));
    case "renew":
      return await clock.until(mine.renew());
    default:
      return await people[action.who]?.perform(action.type);
  }
}

/** One who watches and comes back where it left off. */
class Person {
  readonly #hub: WatchHub<WatchUpdate>;
  readonly #output: OutputStream;
  #stop = new AbortController();
  #due: bigint | undefined;
  sink = new FakeSink();

  private constructor(all: WatchHub<WatchUpdate>, mine: OutputStream) {
    this.#hub = all;
    this.#output = mine;
  }

  static async come(all: WatchHub<WatchUpdate>, mine: OutputStream): Promise<Person> {
    const person = new Person(all, mine);
    await person.#join(rawRequest);
    return person;
  }

  async perform(action: "stall" | "drain" | "reconnect"): Promise<void> {
    if (action === "stall") this.sink.isStalled = true;
    if (action === "drain") this.sink.drain();
    if (action !== "reconnect") return;
    this.check();
    this.leave();
    if (this.#due !== undefined) await this.#join({ ...rawRequest, epoch: "p", afterOffset: this.#due });
  }

  leave(): void {
    this.#stop.abort(new Error("left"));
  }

  async #join(request: WatchRequest): Promise<void> {
    this.#stop = new AbortController();
    this.sink = new FakeSink();
    const { first, rest } = await clock.until(this.#hub.watch(request, this.#stop.signal));
    this.sink.sent.push(first);
    rest(this.sink).catch(() => {});
  }

  /** Everything that was sent since the last check follows on what came before, and is what was printed. */
  check(): void {
    for (const update of this.sink.sent.splice(0)) {
      if (update.kind === "snapshot") {
        const isNamed = update.gap?.first === this.#due && update.gap?.to === update.offset;
        if (this.#due !== undefined && update.offset !== this.#due && !isNamed) throw new Error("an unnamed hole");
        this.#due = update.offset;
        continue;
      }
      if (update.offset !== this.#due) throw new Error(`offset ${update.offset} where ${this.#due} was due`);
      update.data.forEach((byte, i) => {
        if (byte !== byteAt(Number(update.offset) + i)) throw new Error("a wrong byte");
      });
      this.#due += BigInt(update.data.length);
    }
    if (this.#due !== undefined && this.#due > this.#output.ring.end) throw new Error("bytes that were never printed");
  }
}
