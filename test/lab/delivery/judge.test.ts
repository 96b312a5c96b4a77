import { describe, expect, it } from "vitest";
import { type Arrived, judge, type Reported } from "./judge.ts";

describe("the laboratory's own judgement", () => {
  const quiet = { person: [], early: [], effects: [], dialogGone: false, leftover: "", typing: false, isLast: false };
  const kinds = (told: Reported, received: readonly string[], more: object = {}) => {
    const verdict = judge({ ...quiet, told, message: "hello\tthere  ", received, ...more });
    return [verdict.arrived, ...verdict.faults.map((fault) => fault.kind)];
  };

  it.each<[Reported, readonly string[], Arrived, readonly string[]]>([
    ["submitted", ["hello    there"], "once", []],
    ["submitted", ["[nudge] hello    there"], "once", []],
    ["submitted", [], "nothing", ["lost"]],
    ["submitted", ["hello    there", "hello    there"], "twice", ["doubled"]],
    ["submitted", ["hello    therex"], "changed", ["wrong"]],
    ["unknown", ["hello    there"], "once", []],
    ["unknown", [], "nothing", []],
    ["stranded", ["hello    there"], "once", ["wrong"]],
    ["blocked-by-dialog", ["hello    there"], "once", ["wrong"]],
    ["agent-dead", [], "nothing", []],
    ["cancelled", ["hell"], "changed", ["wrong"]],
  ])("%s, received %j: %s %j", (told, received, arrived, faults) => {
    expect(kinds(told, received)).toEqual([arrived, ...faults]);
  });

  it("detects a joined, lost or submitted draft, an answered dialog, and text left in the composer", () => {
    const person = { person: ["my draft"] };
    expect(kinds("submitted", ["my draft", "hello    there"], person)).toEqual(["once"]);
    expect(kinds("submitted", ["my drafthello    there"], person)).toEqual(["changed", "wrong", "draft"]);
    expect(kinds("composer-busy", [], person)).toEqual(["nothing", "draft"]);
    expect(kinds("submitted", ["hello    there"], { ...person, isLast: true })).toEqual(["once"]);
    expect(kinds("composer-busy", ["my draft"], { ...person, early: ["my draft"] })).toEqual(["nothing", "draft"]);
    expect(kinds("blocked-by-dialog", [], { dialogGone: true })).toEqual(["nothing", "dialog"]);
    expect(kinds("submitted", ["hello    there"], { effects: ["task-1"] })).toEqual(["once", "dialog"]);
    expect(kinds("expired", [], { leftover: "> hel" })).toEqual(["nothing", "wrong"]);
  });
});
