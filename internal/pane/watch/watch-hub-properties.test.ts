import { it } from "vitest";
import { clock, FakeSink, rawRequest, useWatchBed } from "../../../test/support/pane/watch-bed.ts";
import { fc } from "../../../test/support/property.ts";
import type { WatchRequest, WatchUpdate } from "../../session/types.ts";
import { OutputStream } from "../screen/output.ts";
import { Peeker } from "../screen/peek.ts";
import { WatchHub } from "./watch-hub.ts";

useWatchBed();

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

it("delivers every byte exactly once or reports it in a gap, whichever watchers stall, leave or return, and however the stream is interrupted", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const mine = new OutputStream({ clock }, { cols: 20, rows: 4, rawBytes: 400_000, epoch: "p", startOffset: 0n });
      await mine.resumeFrom({ text: "", cols: 20, rows: 4, hasHistory: true });
      const now = { text: "", cols: 20, rows: 4, hasHistory: true };
      mine.lags.listen(() => void mine.redraw(now, mine.ring.end, true));
      const peeker = new Peeker({
        clock,
        output: mine,
        pane: () => undefined,
        paneForPeek: () => () => Promise.resolve(undefined),
        alive: () => true,
      });
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

/** The byte at an offset, so that a wrong place shows as a wrong value. */
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
      return await clock.until(mine.resumeFrom({ text: "new", cols: 20, rows: 4, hasHistory: true }));
    case "renew":
      return await clock.until(mine.renew());
    default:
      return await people[action.who]?.perform(action.type);
  }
}

/** A watcher that comes back where it left off. */
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

  /** Checks that everything sent since the last check continues the earlier updates and is what was printed. */
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
