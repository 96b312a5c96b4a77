import { expect, it } from "vitest";
import { RequestTurns } from "./request-turns.ts";

function turnsBed(limits: ConstructorParameters<typeof RequestTurns>[0]) {
  const begun: string[] = [];
  const scheduled: (() => void)[] = [];
  const turns = new RequestTurns(limits, (turn) => scheduled.push(turn));
  const gone = new Set<string>();
  const connections = new Map<string, object>();
  /** `who` is caller, connection and number, such as `a1.3`. */
  const add = (who: string) => {
    const connection = connections.get(who.slice(0, 2)) ?? {};
    connections.set(who.slice(0, 2), connection);
    const share = who.slice(0, 1);
    return turns.add({ share, connection, isGone: () => gone.has(who), begin: () => begun.push(who) });
  };
  return { begun, add, gone, turn: () => scheduled.shift()?.() };
}

it("starts a few requests at once, and the others in later turns of the event loop", () => {
  const { begun, add, turn } = turnsBed({ perTurn: 2 });
  for (const who of ["a1.1", "a1.2", "a1.3", "a1.4", "a1.5"]) expect(add(who)).toBe(true);
  expect(begun).toEqual(["a1.1", "a1.2"]);
  turn();
  expect(begun).toEqual(["a1.1", "a1.2", "a1.3", "a1.4"]);
  turn();
  turn();
  expect(add("a1.6")).toBe(true);
  expect(begun.slice(4)).toEqual(["a1.5", "a1.6"]);
});

it("serves callers in turns, and the connections of each caller", () => {
  const { begun, add, turn } = turnsBed({ perTurn: 1 });
  for (const who of ["a1.1", "a1.2", "a1.3", "a1.4", "a2.1", "b1.1", "b1.2"]) add(who);
  for (let i = 0; i < 10; i++) turn();
  expect(begun).toEqual(["a1.1", "a1.2", "b1.1", "a2.1", "b1.2", "a1.3", "a1.4"]);
});

it("never starts a request whose caller left while it waited", () => {
  const { begun, add, gone, turn } = turnsBed({ perTurn: 1 });
  for (const who of ["a1.1", "a1.2", "a1.3"]) add(who);
  gone.add("a1.2");
  turn();
  expect(begun).toEqual(["a1.1", "a1.3"]);
});

it("refuses a caller whose share is waiting, and every caller if all places are taken", () => {
  const { add, turn } = turnsBed({ perTurn: 1, maxWaiting: 3, maxWaitingOfOne: 2 });
  expect(["a1.1", "a1.2", "a1.3", "a1.4"].map(add)).toEqual([true, true, true, false]);
  expect(["b1.1", "c1.1"].map(add)).toEqual([true, false]);
  turn();
  expect(add("c1.2")).toBe(true);
});
