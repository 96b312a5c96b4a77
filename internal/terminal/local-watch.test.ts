import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { DomainError } from "../base/errors.ts";
import type { PeekResult } from "../session/types.ts";
import { watchLocal } from "./local-watch.ts";

const request = { mode: "screen", lines: 10, intervalMs: 100, ansi: false, epoch: "" } as const;
const picture = { output: "text", alive: true, cols: 80, rows: 24 } as PeekResult;
const gone = new DomainError("not-found", "no such session");

it("ends when the session is gone", async () => {
  const clock = new FakeClock();
  const looks = [() => Promise.resolve(picture)];
  const peek = () => (looks.shift() ?? (() => Promise.reject(gone)))();
  const all = Array.fromAsync(watchLocal({ clock, peek }, request, new AbortController().signal));
  expect(await clock.until(all)).toMatchObject([
    { kind: "snapshot", output: "text" },
    { kind: "end", output: "text", alive: false, endReason: "the session is gone" },
  ]);
});

it("does not treat an aborted look as the end of the session", async () => {
  const stop = new AbortController();
  const reason = new Error("stopped by the person");
  let looks = 0;
  const peek = () => {
    if (++looks === 1) return Promise.resolve(picture);
    stop.abort(reason);
    return Promise.reject(gone); // the message of tmux's program when it was ended
  };
  const clock = new FakeClock();
  await expect(clock.until(Array.fromAsync(watchLocal({ clock, peek }, request, stop.signal)))).rejects.toBe(reason);
});
