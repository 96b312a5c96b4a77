import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import type { Logger } from "../../base/logger.ts";
import { ServingKeeper } from "./serving-keeper.ts";

const SLEEPS = "read go; exec sleep 1000";
/** A program ignores the signals that its shell ignored. */
const HEEDS_NO_TERM = `trap '' TERM; read go; : > "$READY"; exec sleep 1000`;

let dir: string;
let clock: FakeClock;
let said: { readonly message: string; readonly [field: string]: unknown }[];
let refusals: number[];
let setAside: number;
let stop: AbortController;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-keeper-"));
  clock = new FakeClock();
  said = [];
  refusals = [];
  setAside = 0;
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await rm(dir, { recursive: true });
});

/** A keeper of shell programs in place of serving halves. */
function keeperOf(script: string): ServingKeeper {
  const error = (fields: object, message: string) => void said.push({ ...fields, message });
  return new ServingKeeper(
    {
      clock,
      logger: { error } as unknown as Logger,
      refused: (code) => void refusals.push(code),
      setJournalAside: () => {
        setAside++;
      },
    },
    { program: "/bin/sh", args: ["-c", script], env: { PATH: "/usr/bin:/bin", READY: join(dir, "ready") } },
  );
}
const told = (message: string) => said.filter((line) => line.message.includes(message));
const soon = (look: () => void) => vi.waitFor(look, { timeout: 5000, interval: 2 });

it.each([
  [78, 2],
  [75, 1],
])("a first process that ends with %i refuses the start, with exit code %i for the sidecar", async (code, exitCode) => {
  await keeperOf(`read go; exit ${code}`).run(stop.signal);
  expect(refusals).toEqual([exitCode]);
  expect(said).toEqual([]);
});

it("a process that crashes each time before it serves is restarted, the fifth time without its journal", async () => {
  const running = keeperOf("read go; exit 70").run(stop.signal);
  for (let ended = 1; ended <= 10; ended++) {
    await soon(() => expect(told("restarting it")).toHaveLength(ended));
    expect(told("restarting it").at(-1)).toMatchObject({ code: 70, stillborn: ended });
    expect(setAside).toBe(Math.floor(ended / 5));
    await clock.advance(Math.min(500, ended * 100));
  }
  stop.abort();
  await running;
});

it("a killed process does not lose the journal", async () => {
  const running = keeperOf("read go; kill -KILL $$").run(stop.signal);
  for (let ended = 1; ended <= 6; ended++) {
    await soon(() => expect(told("restarting it")).toHaveLength(ended));
    await clock.advance(Math.min(500, ended * 100));
  }
  expect(setAside).toBe(0);
  stop.abort();
  await running;
});

it("a process that has served is restarted at once, whatever its exit code", async () => {
  const keeper = keeperOf("read go; exit 78");
  await clock.advance(10);
  keeper.up();
  const running = keeper.run(stop.signal);
  await soon(() => expect(told("restarting it")).not.toEqual([]));
  expect(refusals).toEqual([]);
  stop.abort();
  await running;
});

it("a process that is silent for more than fifteen seconds is killed, and one that sends messages is not", async () => {
  const keeper = keeperOf(SLEEPS);
  const running = keeper.run(stop.signal);
  for (let second = 0; second < 60; second++) {
    keeper.heard();
    await clock.advance(1000);
  }
  expect(said).toEqual([]);
  await clock.advance(14_000);
  expect(said).toEqual([]);
  await clock.advance(1000);
  expect(told("does not answer")).toHaveLength(1);
  await soon(() => expect(told("restarting it")[0]).toMatchObject({ signal: "SIGKILL" }));
  stop.abort();
  await running;
});

it("a process that ignores SIGTERM is killed two seconds after the stop", async () => {
  let isOver = false;
  const running = keeperOf(HEEDS_NO_TERM)
    .run(stop.signal)
    .finally(() => {
      isOver = true;
    });
  await soon(() => expect(existsSync(join(dir, "ready"))).toBe(true));
  stop.abort();
  await clock.advance(1999);
  expect(isOver).toBe(false);
  await clock.advance(1);
  await running;
  expect(said).toEqual([]);
});
