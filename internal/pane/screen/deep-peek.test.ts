import { beforeEach, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { DeepPeek, type PaneCapture } from "./deep-peek.ts";
import { PEEK_MAX_BYTES } from "./peek-text.ts";

const ROWS = 3;
const ALL = { count: Number.POSITIVE_INFINITY, ansi: false, join: false };
const { signal: live } = new AbortController();

let clock: FakeClock;
let deep: DeepPeek;
let asked: (number | "-")[];
/** The rows above the screen, and on it. */
let rows: string[];
let pane: PaneCapture;
let gate: Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  deep = new DeepPeek(clock);
  asked = [];
  rows = [];
  gate = Promise.resolve();
  pane = {
    capture: async ({ start }) => {
      asked.push(start);
      await gate;
      const shown = start === "-" ? rows : rows.slice(Math.max(0, rows.length - ROWS + start));
      return `${shown.join("\n")}\n`;
    },
  };
});

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i}`);
const lines = (request = ALL, version = 1, signal = live) => deep.lines(pane, request, version, signal);

it.each([
  ["all of a short history in one look", 500, [-1000]],
  ["all of a longer one", 3000, [-1000, -5000]],
  ["all of a deep one", 20_000, [-1000, -5000, "-"]],
])("fetches %s", async (_, count, looks) => {
  rows = numbered(count);
  const found = await clock.until(lines());
  expect([found.output.split("\n").length, found.truncated, asked]).toEqual([count, false, looks]);
});

it("fetches no more than fits an answer", async () => {
  rows = Array.from({ length: 20_000 }, (_, i) => `${i} ${"x".repeat(5000)}`);
  const found = await clock.until(lines());
  expect([found.truncated, asked]).toEqual([true, [-1000]]);
  expect(found.output.length).toBeLessThanOrEqual(PEEK_MAX_BYTES);
  expect(found.output.split("\n").at(-1)).toMatch(/^19999 x/);
});

it("fetches the requested number of lines, in one look if there are few", async () => {
  rows = numbered(20_000);
  expect((await lines({ ...ALL, count: 700 })).output.split("\n")).toHaveLength(700);
  const many = await clock.until(lines({ ...ALL, count: 7000 }, 2));
  expect([many.output.split("\n").length, asked]).toEqual([7000, [-700, -1000, -5000, -7000]]);
});

it("makes one answer for simultaneous callers, and another one later or for another screen", async () => {
  rows = numbered(10);
  const both = await Promise.all([lines(), lines()]);
  expect([both[0] === both[1], asked.length]).toEqual([true, 1]);
  await lines(ALL, 2);
  expect(asked.length).toBe(2);
  await clock.advance(251);
  await lines(ALL, 2);
  expect(asked.length).toBe(3);
});

it("makes one answer after the other, and none for callers that have left", async () => {
  rows = numbered(10);
  const open = Promise.withResolvers<void>();
  gate = open.promise;
  const first = lines({ ...ALL, count: 1 });
  const gone = new AbortController();
  const second = lines({ ...ALL, count: 2 }, 1, gone.signal);
  const third = lines({ ...ALL, count: 3 });
  await settle();
  expect(asked).toEqual([-1]);
  gone.abort();
  open.resolve();
  await expect(second).rejects.toMatchObject({ kind: "cancelled" });
  expect([(await first).output, (await third).output]).toEqual(["line 9", "line 7\nline 8\nline 9"]);
  expect(asked).toEqual([-1, -3]);
});

it("yields to other work while it cleans a long text", async () => {
  rows = Array.from({ length: 900 }, () => "x".repeat(1000));
  const found = lines();
  await settle();
  expect(clock.sleeping).toBe(1);
  expect((await clock.until(found)).output).toHaveLength(900 * 1001 - 1);
});
