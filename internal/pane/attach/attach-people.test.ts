import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { AttachHello } from "../../session/attach.ts";
import { People } from "./attach-people.ts";

class House {
  readonly clock = new FakeClock();
  size = { cols: 160, rows: 50 };
  isAway = false;
  resizes = 0;
  typedInTmux = (): Promise<number | undefined> => Promise.resolve(undefined);
  readonly people: People;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(size = { cols: 160, rows: 50 }) {
    this.size = size;
    const resize = (wanted: typeof size) => {
      if (this.isAway) throw new DomainError("unavailable", "tmux is away");
      this.size = wanted;
      this.resizes++;
      return Promise.resolve();
    };
    const { clock } = this;
    this.people = new People(
      {
        ...{ clock, size: () => this.size, resize: async (wanted) => resize(wanted) },
        typedInTmux: () => this.typedInTmux(),
      },
      { own: { cols: 160, rows: 50 } },
    );
    this.#running = this.people.run(this.#stop.signal);
  }

  async end(): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    await this.#running;
  }
}

const ann: AttachHello = { cols: 100, rows: 30, readOnly: false, name: "ann" };
const bob: AttachHello = { cols: 80, rows: 24, readOnly: false, name: "bob" };
const looker: AttachHello = { cols: 90, rows: 20, readOnly: true, name: "looker" };

let house: House;
beforeEach(() => {
  house = new House();
});
afterEach(() => house.end());

describe("the window's size", () => {
  it("follows the only person who can type, and is restored afterwards", async () => {
    await house.clock.advance(10_000);
    const person = house.people.enter(ann);
    await house.clock.advance(50);
    expect(house.size).toEqual({ cols: 100, rows: 30 });
    house.people.resized(person, { cols: 120, rows: 40 });
    await house.clock.advance(50);
    expect(house.size).toEqual({ cols: 120, rows: 40 });
    person[Symbol.dispose]();
    await house.clock.advance(50);
    expect(house.size).toEqual({ cols: 160, rows: 50 });
  });

  it("changes only a few times while a person drags the edge of their window", async () => {
    await house.clock.advance(10_000);
    const person = house.people.enter(ann);
    const before = house.resizes;
    for (let cols = 100; cols < 200; cols++) {
      house.people.resized(person, { cols, rows: 30 });
      await house.clock.advance(2);
    }
    await house.clock.advance(50);
    expect(house.size).toEqual({ cols: 199, rows: 30 });
    expect(house.resizes - before).toBeLessThan(10);
  });

  it("is its own with two people, and that of the remaining one afterwards", async () => {
    await house.clock.advance(10_000);
    const first = house.people.enter(ann);
    const second = house.people.enter(bob);
    await house.clock.advance(50);
    expect(house.size).toEqual({ cols: 160, rows: 50 });
    first[Symbol.dispose]();
    await house.clock.advance(50);
    expect(house.size).toEqual({ cols: 80, rows: 24 });
    second[Symbol.dispose]();
  });

  it("never follows people who only watch", async () => {
    await house.clock.advance(10_000);
    house.people.enter(looker);
    await house.clock.advance(50);
    expect(house.size).toEqual({ cols: 160, rows: 50 });
    house.people.enter(ann);
    await house.clock.advance(50);
    expect(house.size).toEqual({ cols: 100, rows: 30 });
    expect(house.people.count).toBe(2);
  });

  it("is kept for a moment after a connection broke, and after this process has started", async () => {
    await house.end();
    house = new House({ cols: 100, rows: 30 });
    await house.clock.advance(4000);
    expect(house.size).toEqual({ cols: 100, rows: 30 });
    const person = house.people.enter(ann);
    await house.clock.advance(60_000);
    house.people.lost(person);
    person[Symbol.dispose]();
    await house.clock.advance(4000);
    expect(house.size).toEqual({ cols: 100, rows: 30 });
    await house.clock.advance(2000);
    expect(house.size).toEqual({ cols: 160, rows: 50 });
  });

  it("is set again after tmux was away or the window was created again", async () => {
    house.isAway = true;
    house.people.enter(ann);
    await house.clock.advance(1000);
    expect(house.size).toEqual({ cols: 160, rows: 50 });
    house.isAway = false;
    await house.clock.advance(200);
    expect(house.size).toEqual({ cols: 100, rows: 30 });
    house.size = { cols: 160, rows: 50 };
    await house.clock.advance(1100);
    expect(house.size).toEqual({ cols: 100, rows: 30 });
  });

  it.each([
    [19, 24],
    [80, 4],
    [501, 24],
    [80, 201],
    [80.5, 24],
    [0, 0],
    [-80, 24],
  ])("cannot be %dx%d", (cols, rows) => {
    expect(() => house.people.enter({ ...ann, cols, rows })).toThrow(
      expect.objectContaining({ kind: "invalid", message: expect.stringContaining(`${cols}x${rows}`) }),
    );
    expect(house.people.count).toBe(0);
  });
});

describe("typing", () => {
  it("lasts for two seconds after a key, and ends with Enter", async () => {
    const person = house.people.enter(ann);
    house.people.typed(person);
    await house.clock.advance(1999);
    expect(house.people.isTyping).toBe(true);
    await house.clock.advance(1);
    expect(house.people.isTyping).toBe(false);
    house.people.typed(person);
    house.people.finishedTyping(person);
    expect(house.people.isTyping).toBe(false);
  });

  it("lasts as long as keys wait, and ends when the person leaves", () => {
    const person = house.people.enter(ann);
    person.hasKeysWaiting = () => true;
    expect(house.people.isTyping).toBe(true);
    person[Symbol.dispose]();
    expect(house.people.isTyping).toBe(false);
  });
});

describe("keys in a terminal attached by tmux", () => {
  const typedAt = async (wallMs: number | undefined) => {
    house.typedInTmux = () => Promise.resolve(wallMs);
    await house.clock.advance(1100);
    return house.people.inputAt;
  };

  it("count within a second, from the time at which they were pressed", async () => {
    expect(await typedAt(undefined)).toBeUndefined();
    const at = house.clock.now() - 5000;
    const { wallMs, monotonicMs } = (await typedAt(at)) ?? {};
    expect([wallMs, monotonicMs]).toEqual([at, house.clock.monotonicMs() - (house.clock.now() - at)]);
  });

  it("count from now if tmux reports a time in the future, and are ignored if a newer key is known", async () => {
    house.people.typed(house.people.enter(ann));
    const { inputAt } = house.people;
    expect(await typedAt(house.clock.now() - 5000)).toBe(inputAt);
    await typedAt(house.clock.now() + 3_600_000);
    expect(house.people.inputAt?.wallMs).toBeLessThanOrEqual(house.clock.now());
    expect(house.people.inputAt?.wallMs).toBeGreaterThan(inputAt?.wallMs ?? 0);
  });

  it("are checked again after tmux was away", async () => {
    house.typedInTmux = () => Promise.reject(new DomainError("unavailable", "tmux is away"));
    await house.clock.advance(5000);
    expect(house.people.inputAt).toBeUndefined();
    expect(await typedAt(house.clock.now())).toBeDefined();
  });
});

it("reports everyone who comes and goes, by a name that is safe to show", () => {
  const first = house.people.enter(ann);
  const second = house.people.enter({ ...looker, name: `\x1b]0;x\x07 eve\n${"x".repeat(100)}` });
  expect(second.name).toBe(`eve ${"x".repeat(60)}`);
  second[Symbol.dispose]();
  house.people.enter({ ...bob, name: "" });
  expect(first.takeNotices()).toEqual([
    `${second.name} is watching here too`,
    `${second.name} left`,
    "somebody is typing here too",
  ]);
  expect(first.takeNotices()).toEqual([]);
});

it("keeps a few notices for a person who does not read them", () => {
  const person = house.people.enter(ann);
  for (let i = 0; i < 100; i++) house.people.tell(`notice ${i}`);
  expect(person.takeNotices()).toHaveLength(10);
});
