import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../base/clock.ts";
import { type LockDeps, SessionLock } from "./session-lock.ts";

const signal = new AbortController().signal;
const uid = process.getuid?.() ?? 0;
let base: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "gt-lock-test-"));
});
afterEach(() => rm(base, { recursive: true }));

function lock(session: string, pid: number, running: Record<number, string>): SessionLock {
  const deps: LockDeps = {
    clock: systemClock,
    pid,
    uid,
    processes: { exists: (asked) => asked in running, identity: (asked) => running[asked] },
  };
  return new SessionLock(join(base, "locks"), session, deps);
}

describe("a session's lock", () => {
  const running = { 1: "a", 2: "b" };

  it("has one holder at a time", async () => {
    const held = await lock("s", 1, running).take(1000, signal);
    await expect(lock("s", 2, running).take(60, signal)).rejects.toMatchObject({ kind: "deadline" });
    await held[Symbol.asyncDispose]();
    await (await lock("s", 2, running).take(0, signal))[Symbol.asyncDispose]();
    expect(await readdir(join(base, "locks"))).toEqual([]);
  });

  it("tells the next holder when text was last typed", async () => {
    const first = await lock("s", 1, running).take(0, signal);
    expect(first.lastTypedAt).toBeUndefined();
    await first.typed(1234);
    await first[Symbol.asyncDispose]();
    expect((await lock("s", 2, running).take(0, signal)).lastTypedAt).toBe(1234);
  });

  it("shows without being taken whether someone is typing or has typed", async () => {
    const other = lock("s", 2, running);
    expect(await other.isUsed(0)).toBe(false);
    const held = await lock("s", 1, running).take(0, signal);
    expect(await other.isUsed(5000)).toBe(true);
    await held.typed(1234);
    await held[Symbol.asyncDispose]();
    expect([await other.isUsed(1234), await other.isUsed(1235)]).toEqual([true, false]);
  });

  it("of another session is free", async () => {
    await lock("s", 1, running).take(0, signal);
    await lock("t", 2, running).take(0, signal);
  });

  it.each<[string, Record<number, string>]>([
    ["has ended", { 2: "b" }],
    ["has ended and whose pid another process now has", { 1: "c", 2: "b" }],
  ])("is free again when its holder %s", async (_, later) => {
    await lock("s", 1, running).take(0, signal);
    await lock("s", 2, later).take(0, signal);
  });

  it("is free if its file is garbage", async () => {
    await (await lock("s", 1, running).take(0, signal))[Symbol.asyncDispose]();
    const held = lock("s", 1, running);
    await held.take(0, signal);
    const [file = ""] = await readdir(join(base, "locks"));
    await writeFile(join(base, "locks", file), "{");
    await lock("s", 2, running).take(0, signal);
  });

  it("is not released by a process that has lost it", async () => {
    const lost = await lock("s", 1, running).take(0, signal);
    await lock("s", 2, { 2: "b" }).take(0, signal);
    await lost[Symbol.asyncDispose]();
    await expect(lock("s", 1, running).take(0, signal)).rejects.toMatchObject({ kind: "deadline" });
  });

  it("is never held by two of many that ask at once after a holder died", async () => {
    await lock("s", 9, { 9: "x" }).take(0, signal);
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [i + 100, "x"]));
    let holding = 0;
    let most = 0;
    await Promise.all(
      Object.keys(many).map(async (pid) => {
        await using _held = await lock("s", Number(pid), many).take(5000, signal);
        most = Math.max(most, ++holding);
        await systemClock.sleep(1);
        holding--;
      }),
    );
    expect(most).toBe(1);
  });

  it("stops waiting when its signal is aborted", async () => {
    await lock("s", 1, running).take(0, signal);
    const stop = new AbortController();
    const waiting = lock("s", 2, running).take(10_000, stop.signal);
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
  });
});
