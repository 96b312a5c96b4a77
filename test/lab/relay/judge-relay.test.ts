import { expect, it } from "vitest";
import { judgeRelay, type SeenResult, type SessionTruth } from "./judge-relay.ts";

const truth = (kind: SessionTruth["kind"], asked: Readonly<Record<string, readonly string[]>>): SessionTruth => ({
  ...{ session: "s", kind, published: ["a", "b"], asked: new Map(Object.entries(asked)) },
  answered: new Set(Object.values(asked).flat()),
});
const result = (id: string, nonce: string, more: Partial<SeenResult> = {}): SeenResult => ({
  ...{ session: "s", id, type: "result.success", nonce, reason: undefined, part: 1, parts: 1, ...more },
});
const failed = (id: string, reason: string): SeenResult => ({
  ...{ session: "s", id, type: "result.failure", nonce: undefined, reason, part: 1, parts: 1 },
});
const sampling = truth("sampling", { a: ["1", "2"], b: ["3"] });
const faults = (...call: Parameters<typeof judgeRelay>) => {
  const { lost, doubled, mixed, untrue } = judgeRelay(...call);
  return [lost.length, doubled.length, mixed.length, untrue.length];
};

it("the judge accepts one answer for each work of any request", () => {
  const parts = [result("a", "2", { part: 1, parts: 2 }), result("a", "2", { part: 2, parts: 2 })];
  const verdict = judgeRelay([sampling], [...parts, result("b", "3")]);
  expect(verdict).toEqual({ lost: [], doubled: [], mixed: [], untrue: [], uncertain: 0, successes: 2 });
  expect(faults([truth("acp", { a: ["1"] })], [result("a", "1"), failed("b", "uncertain")])).toEqual([0, 0, 0, 0]);
});

it("the judge detects lost, repeated, mixed and false answers", () => {
  expect(faults([sampling], [result("a", "1")])).toEqual([1, 0, 0, 0]);
  expect(faults([sampling], [result("a", "1"), result("b", "3"), result("b", "3")])).toEqual([0, 1, 0, 0]);
  const [one, two] = [result("a", "1", { parts: 2 }), result("a", "2", { part: 2, parts: 2 })];
  expect(faults([sampling], [one, two, result("b", "3")])).toEqual([0, 0, 1, 0]);
  expect(faults([sampling], [result("a", "1", { parts: 2 }), result("b", "3")])).toEqual([0, 0, 1, 0]);
  expect(faults([sampling], [result("b", "3"), result("a", "1")])).toEqual([0, 0, 1, 0]);
  expect(faults([sampling], [result("a", "9"), result("b", "3")])).toEqual([0, 0, 0, 1]);
  expect(faults([sampling], [failed("a", "uncertain"), result("b", "3")])).toEqual([0, 0, 0, 1]);
  const twice = truth("acp", { a: ["1", "2"], b: ["3"] });
  expect(faults([twice], [result("a", "1"), result("b", "3")])).toEqual([0, 0, 0, 1]);
});
