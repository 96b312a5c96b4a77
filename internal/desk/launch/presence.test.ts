import { mkdtempSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { queryObjects } from "node:v8";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { attend, CallerPresence } from "./presence.ts";

const LINGER_MS = 60_000;
const OFTEN = { timeout: 60_000, interval: 2 };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "presence-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A presence that listens, and its end. */
async function openPresence(signal = new AbortController().signal) {
  const clock = new FakeClock();
  const path = join(folder, "presence.sock");
  const ended = new CallerPresence(clock, { path, lingerMs: LINGER_MS }).run(signal);
  const isAlone = () => vi.waitFor(() => expect(clock.sleeping).toBe(1), OFTEN);
  await isAlone();
  return { clock, path, ended, isAlone, isAttended: () => vi.waitFor(() => expect(clock.sleeping).toBe(0), OFTEN) };
}

it("ends when no caller has been connected for the given time since the last one left", async () => {
  const { clock, path, ended, isAlone, isAttended } = await openPresence();
  await clock.advance(LINGER_MS - 1);
  const caller = await attend(path);
  await isAttended();
  await clock.advance(10 * LINGER_MS);
  expect(caller.isGone).toBe(false);
  caller[Symbol.dispose]();
  await isAlone();
  await clock.advance(LINGER_MS);
  await ended;
  expect(clock.sleeping).toBe(0);
});

it("ends on its signal and leaves its callers", async () => {
  const stop = new AbortController();
  const { clock, path, ended, isAttended } = await openPresence(stop.signal);
  using caller = await attend(path);
  await isAttended();
  stop.abort();
  await ended;
  await vi.waitFor(() => expect(caller.isGone).toBe(true));
  expect(clock.sleeping).toBe(0);
});

it("keeps nothing of callers that have left", async () => {
  const stop = new AbortController();
  const { path, ended, isAlone, isAttended } = await openPresence(stop.signal);
  const before = queryObjects(Socket, { format: "count" });
  for (let i = 0; i < 30; i++) {
    const caller = await attend(path);
    await isAttended();
    caller[Symbol.dispose]();
    await isAlone();
  }
  expect(queryObjects(Socket, { format: "count" })).toBeLessThan(before + 10);
  stop.abort();
  await ended;
});
