import { describe, expect, it } from "vitest";
import { checkEvent } from "./events.ts";
import { threadsCodeOf, threadsError } from "./faults.ts";
import { payloadHash, sortedJson } from "./hashes.ts";
import { cursorOf, positionOf, requestIdOf } from "./ids.ts";
import { eraseBefore } from "./retention.ts";
import { afterOutcome } from "./wake-outcomes.ts";

describe("FR-5: typed events", () => {
  it.each([
    ["finding_reported", undefined, { path: "a.ts", line: 3 }, 1],
    ["fix_pushed", 1, { commit: "abc", fixes: ["m-1"] }, 1],
    ["my_own.type", 7, { anything: [1, { x: null }] }, 7],
    ["question", undefined, undefined, 1],
  ])("takes %s, version %s", (type, version, metadata, wanted) => {
    expect(checkEvent(type, version, metadata)).toBe(wanted);
  });

  it.each([
    ["loop_blocked", undefined, {}, /reserved/],
    ["Finding", undefined, {}, /is not/],
    ["finding_reported", 2, {}, /version 2/],
    ["finding_reported", undefined, { line: "3" }, /metadata.line/],
    ["fix_pushed", undefined, {}, /needs commit or ref/],
    ["fix_pushed", undefined, { commit: "c", fixes: "m-1" }, /metadata.fixes/],
  ])("refuses %s, version %s, %j", (type, version, metadata, message) => {
    expect(() => checkEvent(type, version, metadata)).toThrow(message);
  });
});

it.each([
  ["active", 30, 0, 40, undefined],
  ["closed", 0, 0, 400, undefined],
  ["closed", 30, 0, 29, undefined],
  ["closed", 30, 0, 31, 1],
] as const)("FR-8: a %s thread with %s days, changed on day %s, on day %s erases before day %s", (...given) => {
  const [status, days, changed, today, wanted] = given;
  const DAY = 86_400_000;
  const before = eraseBefore({ status, updatedAt: changed * DAY }, days, today * DAY);
  expect(before).toBe(wanted === undefined ? undefined : wanted * DAY);
});

it.each([
  ["submitted", true, "SUBMITTED", true],
  ["unknown", true, "UNKNOWN", true],
  ["stranded", true, "UNKNOWN", true],
  ["composer-busy", true, "DEFERRED", false],
  ["blocked-by-dialog", true, "DEFERRED", false],
  ["agent-dead", true, "DEFERRED", false],
  ["unsafe", true, "FAILED", false],
  ["expired", true, "DEFERRED", false],
  ["cancelled", false, "CANCELLED", false],
] as const)("FR-10: after %s, waiting %s, a wake is %s", (outcome, waits, state, offered) => {
  expect(afterOutcome(outcome, waits)).toMatchObject({ state, offered });
});

it("hashes equal values to the same hash", () => {
  expect(sortedJson({ b: 1, a: { d: 1, c: [2, 1] } })).toBe('{"a":{"c":[2,1],"d":1},"b":1}');
  expect(payloadHash({ a: 1, b: undefined })).toBe(payloadHash({ a: 1 }));
  expect(payloadHash({ a: 1 })).not.toBe(payloadHash({ a: 2 }));
});

it("decodes encoded positions, and refuses others", () => {
  expect(positionOf(cursorOf([12, "t-1"]))).toEqual([12, "t-1"]);
  expect(() => positionOf("abc")).toThrow("cursor");
});

it("gives an attempt the same name each time", () => {
  expect(requestIdOf("abc", 2)).toBe("w-abc-2");
});

it("has a code for every kind of failure", () => {
  expect(threadsCodeOf(threadsError("THREAD_CLOSED", "x"))).toBe("THREAD_CLOSED");
});
