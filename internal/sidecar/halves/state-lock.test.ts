import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { type StatePaths, statePaths } from "./state-dir.ts";
import { lockState } from "./state-lock.ts";

describe.runIf(process.platform === "linux")("the lock of a state folder", () => {
  let dir: string;
  let paths: StatePaths;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "gt-lock-"));
    paths = statePaths(dir);
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const supervise = { half: "supervise", waitMs: 0 } as const;
  const serve = { half: "serve", waitMs: 0 } as const;
  const taken = expect.objectContaining({
    kind: "already-exists",
    message: expect.stringContaining("another gt-sidecar"),
  });

  it("is given to one of many that ask at the same moment", async () => {
    const asked = await Promise.allSettled(
      Array.from({ length: 20 }, () => lockState(new FakeClock(), paths, supervise)),
    );
    const got = asked.filter((one) => one.status === "fulfilled");
    expect(got).toHaveLength(1);
    for (const one of asked) if (one.status === "rejected") expect(one.reason).toEqual(taken);
    for (const { value } of got) await value[Symbol.asyncDispose]();
  });

  it("that cannot be written is refused, and not reported as a bug", async () => {
    const unwritable = { ...paths, lock: join(dir, "missing", "lock") };
    const refused = { kind: "denied", message: expect.stringMatching(/lock .*: there is no such folder$/) };
    await expect(lockState(new FakeClock(), unwritable, supervise)).rejects.toMatchObject(refused);
  });

  it("exists for each half, and in each folder", async () => {
    await using _first = await lockState(new FakeClock(), paths, supervise);
    await using _second = await lockState(new FakeClock(), paths, serve);
    const other = mkdtempSync(join(tmpdir(), "gt-lock-"));
    await using _third = await lockState(new FakeClock(), statePaths(other), supervise);
    rmSync(other, { recursive: true });
  });

  it("is waited for while its holder may be about to end", async () => {
    const clock = new FakeClock();
    const first = await lockState(clock, paths, serve);
    const second = lockState(clock, paths, { half: "serve", waitMs: 1000 });
    await first[Symbol.asyncDispose]();
    while (clock.sleeping === 0) await new Promise((turn) => setImmediate(turn));
    await clock.advance(50);
    await (await second)[Symbol.asyncDispose]();
  });

  it("is refused while a supervising half answers on the folder's socket, wherever it runs", async () => {
    const elsewhere = createServer((socket) => socket.destroy());
    await new Promise<void>((listening) => elsewhere.listen(paths.control, listening));
    await expect(lockState(new FakeClock(), paths, supervise)).rejects.toEqual(taken);
    await new Promise((closed) => elsewhere.close(closed));
    await using _now = await lockState(new FakeClock(), paths, supervise);
  });
});
