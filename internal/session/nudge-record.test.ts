import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { machineTime } from "../../test/support/machine-time.ts";
import { hashOf, type NudgeRecord, recordsOf, restoreNudges } from "./nudge-record.ts";
import type { NudgeReceipt } from "./types.ts";

const HOUR = 3_600_000;
const NOW = 100 * HOUR;
const BOOT = "this boot";
const TIME = machineTime(new FakeClock(), { id: BOOT, upMs: NOW });

const accepted = (requestId: string): NudgeRecord & { readonly type: "accepted" } => ({
  type: "accepted",
  nudge: {
    requestId,
    messageHash: hashOf("m"),
    message: "m",
    text: "m",
    mode: "wait-idle",
    priority: "normal",
    sender: "",
    acceptedAt: 0,
    expiresAt: NOW,
  },
});
const intent = (requestId: string): NudgeRecord => ({ type: "intent", requestId });
const withdrawn = (requestId: string): NudgeRecord => ({ type: "withdrawn", requestId });
const receipt = (requestId: string): NudgeReceipt => ({
  requestId,
  outcome: "submitted",
  error: "",
  sender: "",
  queuePosition: 0,
  evidence: [],
  timings: {},
});
const ended = (requestId: string, upMs = NOW, boot = BOOT): NudgeRecord => ({
  type: "ended",
  receipt: receipt(requestId),
  at: 0,
  moment: { boot, upMs },
});

function restored(records: readonly NudgeRecord[], keep = 100): readonly string[] {
  const nudges = restoreNudges(records, TIME, 24 * HOUR, { total: keep, ofOne: keep });
  return nudges.map(({ nudge, intent: open, ended: end }) =>
    [nudge.requestId, ...(open ? ["intent"] : []), ...(end ? ["ended"] : [])].join(" "),
  );
}

it.each([
  ["a waiting message", [accepted("a")], ["a"]],
  ["one that may have been typed", [accepted("a"), intent("a")], ["a intent"]],
  ["one whose attempt typed nothing", [accepted("a"), intent("a"), withdrawn("a")], ["a"]],
  ["one with another attempt", [accepted("a"), intent("a"), withdrawn("a"), intent("a")], ["a intent"]],
  ["one that ended", [accepted("a"), intent("a"), ended("a")], ["a intent ended"]],
  ["several in the order of their acceptance", [accepted("b"), accepted("a"), intent("a")], ["b", "a intent"]],
  ["records of unknown messages", [intent("x"), ended("y"), withdrawn("z")], []],
] as const)("restores %s", (_, records, expected) => {
  expect(restored(records)).toEqual(expected);
});

it("forgets receipts after their time, and never a message that has not ended", () => {
  const records = [accepted("old"), ended("old", NOW - 24 * HOUR), accepted("open"), accepted("new")];
  expect(restored([...records, ended("new", NOW - 24 * HOUR + 1)])).toEqual(["open", "new ended"]);
});

it("forgets no receipt of unknown age: from before this boot or an upgrade", () => {
  const young = machineTime(new FakeClock(), { id: BOOT, upMs: 23 * HOUR });
  const { moment: _, ...unstamped } = ended("older") as NudgeRecord & { readonly type: "ended" };
  const records = [accepted("before"), ended("before", 99 * HOUR, "another boot"), accepted("older"), unstamped];
  const left = restoreNudges(records, young, 24 * HOUR, { total: 9, ofOne: 9 });
  expect(left.map(({ nudge }) => nudge.requestId)).toEqual(["before", "older"]);
});

it("keeps only the last receipts, and every message that has not ended", () => {
  const many = ["a", "b", "c"].flatMap((id) => [accepted(id), ended(id)]);
  expect(restored([accepted("open"), ...many], 2)).toEqual(["open", "b ended", "c ended"]);
});

it("writes the shortest equivalent list of records", () => {
  const records = [
    accepted("a"),
    intent("a"),
    withdrawn("a"),
    accepted("b"),
    intent("b"),
    accepted("c"),
    intent("c"),
    ended("c"),
  ];
  const short = recordsOf(restoreNudges(records, TIME, 24 * HOUR, { total: 100, ofOne: 100 }));
  expect(short).toEqual([accepted("a"), accepted("b"), intent("b"), accepted("c"), ended("c")]);
  expect(restored(short)).toEqual(["a", "b intent", "c ended"]);
});
