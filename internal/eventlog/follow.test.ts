import { describe, expect, it } from "vitest";
import { settle } from "../../test/support/fake-clock.ts";
import { fc } from "../../test/support/property.ts";
import { EventLog, type SeqReservation } from "./event-log.ts";
import { follow } from "./follow.ts";
import type { Followed } from "./log-cursor.ts";

const kept = { keep: () => true };
const never = new AbortController().signal;

async function taken<T>(events: AsyncGenerator<Followed<T>>, count: number) {
  const all: Followed<T>[] = [];
  while (all.length < count) {
    const { value, done } = await events.next();
    if (done) break;
    all.push(value);
  }
  return all.map((each) => (each.type === "event" ? each.event : `${each.seq}: ${JSON.stringify(each.missing, big)}`));
}
const big = (_: string, value: unknown) => (typeof value === "bigint" ? Number(value) : value);

function numbers(count: number, maxEvents = 5, before?: SeqReservation): EventLog<number> {
  const log = new EventLog<number>(kept, { maxEvents, maxBytes: 1e6, before });
  for (let i = 1; i <= count; i++) log.append(i, 1);
  return log;
}

describe("a reader", () => {
  it("gets the held events, then new ones", async () => {
    const log = numbers(3);
    const events = follow(log, { epoch: "" }, never);
    expect(await taken(events, 3)).toEqual([1, 2, 3]);
    const next = taken(events, 2);
    await settle();
    log.append(4, 1);
    log.append(5, 1);
    expect(await next).toEqual([4, 5]);
  });

  it("without a position starts at the oldest held event and gets no gap", async () => {
    expect(await taken(follow(numbers(9), { epoch: "" }, never), 5)).toEqual([5, 6, 7, 8, 9]);
  });

  it("with an old position gets one gap for the missing events", async () => {
    const events = follow(numbers(9), { after: 2n, epoch: "" }, never);
    expect(await taken(events, 3)).toEqual(['4: {"first":3,"to":5,"reason":"evicted"}', 5, 6]);
  });

  it("that returns after the gap was sent does not get it again", async () => {
    expect(await taken(follow(numbers(9), { after: 4n, epoch: "" }, never), 1)).toEqual([5]);
  });

  it("that is slower than the log gets a gap for the missed events, also during the replay", async () => {
    const log = numbers(4);
    const events = follow(log, { epoch: "" }, never);
    expect(await taken(events, 2)).toEqual([1, 2]);
    for (let i = 5; i <= 20; i++) log.append(i, 1);
    expect(await taken(events, 2)).toEqual(['15: {"first":3,"to":16,"reason":"slow-reader"}', 16]);
  });

  it("from before a restart gets a gap even if it had read everything", async () => {
    const before = { epoch: "e", reservedTo: 256n };
    const gap = { first: 257, to: 258, reason: "restart" };
    const reported = await taken(follow(numbers(2, 5, before), { after: 256n, epoch: "e" }, never), 3);
    expect(reported).toEqual([`257: ${JSON.stringify(gap)}`, 1, 2]);
    expect(await taken(follow(numbers(0, 5, before), { after: 3n, epoch: "e" }, never), 1)).toEqual([
      `257: ${JSON.stringify({ first: 4, to: 258, reason: "restart" })}`,
    ]);
  });

  it("is at its end when the log is closed and all is read", async () => {
    const log = numbers(2);
    log.close();
    expect(await taken(follow(log, { epoch: "" }, never), 9)).toEqual([1, 2]);
  });

  it("ends when its signal is aborted", async () => {
    const stop = new AbortController();
    const waiting = follow(numbers(0), { epoch: "" }, stop.signal).next();
    stop.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
  });

  it("with another epoch or a number after the last event is refused", () => {
    const log = numbers(3);
    const fields = { epoch: log.epoch, head: "3" };
    expect(() => follow(log, { epoch: "other" }, never)).toThrow(
      expect.objectContaining({ kind: "precondition", fields }),
    );
    expect(() => follow(log, { after: 4n, epoch: log.epoch }, never)).toThrow(expect.objectContaining({ fields }));
    expect(() => follow(log, { after: 3n, epoch: log.epoch }, never)).not.toThrow();
  });

  it("is ended when the numbers start again", async () => {
    let works = true;
    const log = new EventLog<number>({ keep: () => works }, { maxEvents: 3, maxBytes: 1e6 });
    const events = follow(log, { epoch: log.epoch }, never);
    log.append(1, 1);
    expect(await taken(events, 1)).toEqual([1]);
    const next = events.next();
    works = false;
    for (let i = 0; i < 300; i++) log.append(i, 1);
    await expect(next).rejects.toMatchObject({ kind: "precondition", fields: { epoch: log.epoch } });
  });
});

/** The surroundings of the property test: processes that crash, a journal that fails, readers that come and go. */
class World {
  /** The event of every number of every epoch; undefined: renumbered away. */
  readonly truth = new Map<string, Map<bigint, number>>();
  readonly readers: Reader[];
  readonly maxEvents: number;
  log: EventLog<number>;
  journal: SeqReservation | undefined;
  journalWorks = true;
  #count = 0;

  constructor(readers: number, maxEvents: number) {
    this.maxEvents = maxEvents;
    this.log = this.#start();
    this.readers = Array.from({ length: readers }, () => new Reader(this));
  }

  #start(): EventLog<number> {
    const keep = (reservation: SeqReservation) => {
      if (this.journalWorks) this.journal = reservation;
      return this.journalWorks;
    };
    return new EventLog<number>({ keep }, { maxEvents: this.maxEvents, maxBytes: 1e9, before: this.journal });
  }

  append(count: number): void {
    for (let i = 0; i < count; i++) {
      const { epoch } = this.log;
      const value = this.#count++;
      const seq = this.log.append(value, 1) ?? 0n;
      if (this.log.epoch !== epoch) this.#renumbered();
      else this.#record(seq, value);
    }
  }

  #record(seq: bigint, value: number): void {
    const numbers = this.truth.get(this.log.epoch) ?? new Map<bigint, number>();
    this.truth.set(this.log.epoch, numbers);
    expect(numbers.has(seq), "a number was used twice").toBe(false);
    numbers.set(seq, value);
  }

  #renumbered(): void {
    expect(this.truth.has(this.log.epoch), "an epoch was used twice").toBe(false);
    for (let seq = this.log.oldest; seq <= this.log.head; seq++) this.#record(seq, this.log.get(seq) ?? -1);
  }

  crash(): void {
    for (const reader of this.readers) reader.cut();
    this.log = this.#start();
  }
}

/** Reads at its own speed and checks that every number comes once or is reported missing. */
class Reader {
  readonly #world: World;
  #position: { epoch: string; seq: bigint } | undefined;
  #open: { readonly events: AsyncGenerator<Followed<number>>; readonly stop: AbortController } | undefined;
  #pending: Promise<void> | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  async read(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.#pending ??= this.#next();
      await Promise.race([this.#pending, settle()]);
    }
  }

  async #next(): Promise<void> {
    const { events } = this.#open ?? this.#connect();
    try {
      const { value } = await events.next();
      if (value !== undefined) this.#take(value);
    } catch (err) {
      if ((err as { kind?: string }).kind === "precondition") this.cut();
      else if ((err as Error).message !== "cut") throw err;
    } finally {
      this.#pending = undefined;
    }
  }

  #connect() {
    const { log } = this.#world;
    if (this.#position?.epoch !== log.epoch) this.#position = undefined;
    const stop = new AbortController();
    const events = follow(log, { after: this.#position?.seq, epoch: this.#position?.epoch ?? "" }, stop.signal);
    this.#position ??= { epoch: log.epoch, seq: log.oldest - 1n };
    this.#open = { events, stop };
    return this.#open;
  }

  #take(followed: Followed<number>): void {
    const { epoch, seq } = this.#position ?? { epoch: "", seq: 0n };
    if (followed.type === "event") {
      expect(followed.seq).toBe(seq + 1n);
      expect(this.#world.truth.get(epoch)?.get(followed.seq)).toBe(followed.event);
    } else {
      expect(followed.missing.first).toBe(seq + 1n);
      expect(followed.missing.to).toBe(followed.seq + 1n);
    }
    this.#position = { epoch, seq: followed.seq };
  }

  /** Breaks the connection; events in transit are lost. */
  cut(): void {
    this.#open?.stop.abort(new Error("cut"));
    this.#open = undefined;
  }

  get caughtUp(): boolean {
    const { log } = this.#world;
    return this.#position?.epoch === log.epoch && this.#position.seq === log.head;
  }
}

it("never loses or repeats an event without a gap, through evictions, cuts, crashes and a failing journal", async () => {
  const reader = fc.nat(2);
  const step = fc.oneof(
    fc.record({ do: fc.constant("append" as const), count: fc.oneof(fc.nat(8), fc.nat(400)) }),
    fc.record({ do: fc.constant("read" as const), reader, count: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ do: fc.constant("cut" as const), reader }),
    fc.record({ do: fc.constant("crash" as const) }),
    fc.record({ do: fc.constant("journal" as const), works: fc.boolean() }),
  );
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 50 }), fc.array(step, { maxLength: 40 }), async (maxEvents, steps) => {
      const world = new World(3, maxEvents);
      for (const each of steps) {
        if (each.do === "append") world.append(each.count);
        else if (each.do === "read") await world.readers[each.reader]?.read(each.count);
        else if (each.do === "cut") world.readers[each.reader]?.cut();
        else if (each.do === "crash") world.crash();
        else world.journalWorks = each.works;
      }
      world.append(1);
      for (const each of world.readers) {
        for (let i = 0; i < 30 && !each.caughtUp; i++) await each.read(10);
        expect(each.caughtUp).toBe(true);
        each.cut();
      }
    }),
    { numRuns: 150 },
  );
});
