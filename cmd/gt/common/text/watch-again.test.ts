import { beforeEach, expect, it } from "vitest";
import { DomainError } from "../../../../internal/base/errors.ts";
import type { WatchUpdate } from "../../../../internal/session/types.ts";
import { FakeClock } from "../../../../test/support/fake-clock.ts";
import { connectAgain, watchAgain } from "./watch-again.ts";

const request = { mode: "screen", lines: 10, intervalMs: 100, ansi: false, epoch: "" } as const;
const lost = new DomainError("unavailable", "127.0.0.1:9090: the connection was cut");
const update = (output: string, kind: WatchUpdate["kind"] = "change") => ({ output, kind }) as WatchUpdate;

let clock: FakeClock;
let notes: string[];
beforeEach(() => {
  clock = new FakeClock();
  notes = [];
});

/** A backend whose connections each give their updates and then fail, or end if the last item is not an error. */
function watched(connections: readonly (readonly (WatchUpdate | Error)[])[], signal = new AbortController().signal) {
  let opened = 0;
  const backend = {
    async *watch() {
      for (const item of connections[Math.min(opened++, connections.length - 1)] ?? []) {
        if (item instanceof Error) throw item;
        yield item;
      }
    },
  };
  const note = (text: string) => void notes.push(text);
  const all = Array.fromAsync(
    watchAgain(backend, request, { clock, signal, lost: note, back: note }),
    ({ output }) => output,
  );
  return clock.until(all);
}

it("reconnects after a lost connection and reports it", async () => {
  const first = [update("a", "snapshot"), lost];
  const second = [update("b", "snapshot"), update("c", "end")];
  expect(await watched([first, [lost], second])).toEqual(["a", "b", "c"]);
  expect(notes).toEqual([
    "the connection was lost, reconnecting (127.0.0.1:9090: the connection was cut)",
    expect.stringMatching(/^reconnected after /),
  ]);
});

it("fails at once if the first connection fails", async () => {
  await expect(watched([[lost]])).rejects.toBe(lost);
  expect(notes).toEqual([]);
});

it("does not retry a refused call", async () => {
  const denied = new DomainError("denied", "no");
  await expect(watched([[update("a"), denied]])).rejects.toBe(denied);
});

it("gives up after five minutes", async () => {
  await expect(watched([[update("a"), lost], [lost]])).rejects.toBe(lost);
  expect(clock.monotonicMs()).toBeGreaterThanOrEqual(300_000);
  expect(clock.monotonicMs()).toBeLessThan(310_000);
});

it("reopens a stream that breaks before its first update if the server has answered already", async () => {
  const streams = [[lost], [lost], ["running"]];
  const open = async function* () {
    for (const item of streams.shift() ?? []) {
      if (item instanceof Error) throw item;
      yield item;
    }
  };
  const note = (text: string) => void notes.push(text);
  const deps = { clock, signal: new AbortController().signal, lost: note, back: note };
  expect(await clock.until(Array.fromAsync(connectAgain(open, deps, true)))).toEqual(["running"]);
  expect(notes).toHaveLength(2);
  streams.push([lost]);
  await expect(clock.until(Array.fromAsync(connectAgain(open, deps)))).rejects.toThrow("the connection was cut");
});
