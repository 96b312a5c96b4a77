import { expect, it } from "vitest";
import { ThreadTurns } from "./thread-turns.ts";

const LIMITS = { threads: 2, queue: 1 };

/** Threads, and the names of those that were forgotten. */
function openThreads() {
  const forgotten: string[] = [];
  const threads = new ThreadTurns((name) => void forgotten.push(name));
  return {
    forgotten,
    enter: (name: string, isLasting = false) => threads.enter(name, LIMITS, isLasting),
    use: (name: string, isLasting = false) => threads.enter(name, LIMITS, isLasting)[Symbol.dispose](),
  };
}

it("always accepts new threads: the one that was idle longest is forgotten", () => {
  const { use, forgotten } = openThreads();
  for (const name of ["a", "b", "a", "c", "a", "d"]) use(name);
  expect(forgotten).toEqual(["b", "c"]);
});

it("forgets no thread during a turn, not even after its caller has left", async () => {
  const { enter, use, forgotten } = openThreads();
  using _held = enter("a");
  const left = enter("b");
  const turn = Promise.withResolvers<void>();
  const running = left.inTurn(() => turn.promise);
  left[Symbol.dispose]();
  expect(() => use("c")).toThrow("all threads are in a turn");
  expect(forgotten).toEqual([]);
  turn.resolve();
  await running;
  use("c");
  expect(forgotten).toEqual(["b"]);
});

it("displaces a lasting thread only for another lasting one", () => {
  const { use, forgotten } = openThreads();
  use("briefed", true);
  for (const name of ["a", "b", "c", "briefed"]) use(name);
  expect(forgotten).toEqual(["a"]);
  use("b", true);
  use("other", true);
  expect(forgotten).toEqual(["a", "briefed"]);
});

it("keeps a thread whose end could not be recorded", () => {
  const threads = new ThreadTurns(() => {
    throw new Error("the volume is full");
  });
  for (const name of ["a", "b"]) threads.know(name, false);
  expect(() => threads.enter("c", LIMITS)).toThrow("the volume is full");
  using first = threads.enter("a", { threads: 1, queue: 0 });
  expect(first).toBeDefined();
});

it("runs one turn of a thread at a time and lets as many wait as its queue holds", () => {
  const { enter } = openThreads();
  using _first = enter("a");
  using second = enter("a");
  expect(() => enter("a")).toThrow("too many turns of this thread are waiting");
  second[Symbol.dispose]();
  using _third = enter("a");
});
