import { describe, expect, it } from "vitest";
import type { AgentPhase, BridgeEvent, BridgeInputOutcome } from "./bridge-sessions.ts";
import { afterAnswer, afterEvent, type BridgeTurn, beginTurn } from "./bridge-turn.ts";

/** The steps of a session's log, by their letters in the tables below. */
const STEPS: Readonly<Record<string, object>> = {
  I: { type: "input", key: "ours" },
  R: { type: "receipt", key: "ours", outcome: "submitted", error: "" },
  Q: { type: "receipt", key: "ours", outcome: "queued", error: "" },
  B: { type: "phase", phase: "busy" },
  D: { type: "phase", phase: "idle" },
  A: { type: "phase", phase: "dialog" },
  P: { type: "phase", phase: "parked" },
  S: { type: "phase", phase: "starting" },
  U: { type: "phase", phase: "uncertain" },
  i: { type: "input", key: "other" },
  r: { type: "receipt", key: "other", outcome: "submitted", error: "" },
  x: { type: "ended", isLast: false, error: "" },
  X: { type: "ended", isLast: true, error: "" },
  G: { type: "gap", gap: { first: 2, to: 9, reason: "evicted" } },
  E: { type: "dialog-opened", dialog: { id: "d", kind: "permission", title: "", text: "", choices: [] } },
  e: { type: "dialog-closed" },
};

/** The turn after these steps; a digit is output. */
function play(phase: AgentPhase, steps: string, maxBytes = 1000): BridgeTurn {
  let turn = beginTurn({ epoch: "e1", seq: 10, phase }, "ours", maxBytes);
  for (const [index, letter] of [...steps.replaceAll(" ", "")].entries()) {
    const step = STEPS[letter] ?? { type: "output", text: `${letter}\n` };
    turn = afterEvent(turn, { seq: 11 + index, epoch: "e1", ...step } as BridgeEvent);
  }
  return turn;
}

const lines = (turn: BridgeTurn) => turn.text.replaceAll("\n", "");

describe("a turn is over", () => {
  it.each([
    // The phase at the input, the log, and the lines of the answer.
    ["idle", "I R B 1 2 D", "12"],
    ["idle", "I B R 1 2 D", "12"],
    ["idle", "I B 1 2 D R", "12"],
    ["idle", "I Q B 1 R D", "1"],
    ["idle", "I R 1 B 2 D", "12"],
    ["idle", "I R B D", ""],
    ["idle", "1 I R B 2 D 3", "2"],
    ["idle", "I R B 1 A 2 B 3 D", "123"],
    ["idle", "I R A 1 D", "1"],
    ["idle", "I A 1 R 2 D", "12"],
    ["idle", "I A D R A 1 D", "1"],
    ["idle", "I R B 1 P B 2 D", "12"],
    ["idle", "I R U B 1 U D", "1"],
    ["busy", "I 1 D R B 2 D", "2"],
    ["busy", "I 1 D B 2 D R", "2"],
    ["busy", "I 1 D B R 2 D", "2"],
    ["busy", "I 1 A B 2 D R B 3 D", "3"],
    ["busy", "I R 1 D", "1"],
    ["busy", "1 D I R B 2 D", "2"],
    ["dialog", "I 1 B D R B 2 D", "2"],
    ["stalled", "I 1 D R B 2 D", "2"],
    ["parked", "I 1 B D R B 2 D", "2"],
    ["starting", "I D R B 1 D", "1"],
    ["starting", "I S D 1 R B 2 D", "12"],
    ["unspecified", "I 1 D R B 2 D", "12"],
    ["idle", "i I r R B 1 D", "1"],
    ["idle", "x S D I R B 1 D", "1"],
    ["idle", "I x S D R B 1 D", "1"],
    ["idle", "I R G 1 D", "1"],
    ["idle", "G I R B 1 D", "1"],
    ["busy", "I 1 G D R B 2 D", "2"],
  ] as const)("%s: %s", (phase, steps, text) => {
    const turn = play(phase, steps);
    expect(turn.end).toEqual({ type: "over" });
    expect(lines(turn)).toBe(text);
    // One step earlier the turn is open.
    const before = steps.replace(/ \S( \d)*$/, "");
    expect(play(phase, before).end).toBeUndefined();
  });
});

describe("a turn continues", () => {
  it.each([
    ["idle", ""],
    ["idle", "B D"],
    ["idle", "R"],
    ["idle", "I"],
    ["idle", "I R"],
    ["idle", "I R D"],
    ["idle", "I B D"],
    ["idle", "I B r D"],
    ["idle", "I A D R"],
    ["idle", "I A D R D"],
    ["idle", "I R B A"],
    ["idle", "I B D B R"],
    ["busy", "I D R"],
    ["busy", "I D R D"],
    ["busy", "I D B R"],
    ["starting", "I D R D"],
    ["idle", "i r B D"],
    ["idle", "I x"],
  ] as const)("%s: %s", (phase, steps) => {
    expect(play(phase, steps).end).toBeUndefined();
  });
});

describe("a turn has another end", () => {
  const receipt = (outcome: BridgeInputOutcome) =>
    afterEvent(play("idle", "I"), { seq: 50, epoch: "e1", type: "receipt", key: "ours", outcome, error: "why" }).end;

  it.each(["blocked-by-dialog", "composer-busy", "agent-dead", "expired"] as const)("%s: not taken", (outcome) => {
    expect(receipt(outcome)).toEqual({ type: "not-taken", outcome, error: "why" });
  });

  it.each(["stranded", "unknown"] as const)("%s: uncertain", (outcome) => {
    expect(receipt(outcome)).toEqual({ type: "uncertain", why: `the input is ${outcome}` });
  });

  it("unsafe, or withdrawn", () => {
    expect([receipt("unsafe"), receipt("cancelled")]).toEqual([
      { type: "unsafe", error: "why" },
      { type: "withdrawn" },
    ]);
  });

  it.each(["I R x", "I R B X", "I X", "G X", "I R B 1 x"])("uncertain when its agent ends: %s", (steps) => {
    expect(play("idle", steps).end).toEqual({ type: "uncertain", why: "the agent ended" });
  });

  it("not taken when its session ends before the input came", () => {
    expect(play("idle", "B D X").end).toEqual({ type: "not-taken", outcome: "ended", error: "" });
  });

  it("uncertain if the log starts again, whatever its events", () => {
    const again = { seq: 1, epoch: "e2", type: "phase", phase: "idle" } as const;
    const end = { type: "uncertain", why: "the session's log was restarted" };
    for (const steps of ["", "I", "I R B"]) expect(afterEvent(play("idle", steps), again).end).toEqual(end);
  });

  it("only once", () => {
    expect(play("idle", "I R B 1 D X B 2 D")).toEqual(play("idle", "I R B 1 D"));
  });
});

describe("the missing parts of a log", () => {
  it("are kept within the turn, and ignored before it", () => {
    expect(play("idle", "I R B G 1 D").gaps).toEqual([{ first: 2, to: 9, reason: "evicted" }]);
    expect(play("idle", "G I R B 1 D").gaps).toEqual([]);
    const lost = { seq: 40, epoch: "e1", type: "gap", gap: { first: 40, to: 41, reason: "truncated" } } as const;
    const turn = afterEvent(play("idle", "I R B"), lost);
    expect(turn).toMatchObject({ isBlind: false, phase: "busy", gaps: [lost.gap] });
    expect(afterEvent(play("idle", ""), lost).gaps).toEqual([]);
  });

  it("may include the receipt, which the answer to the input then replaces", () => {
    const answer = { outcome: "submitted", error: "" } as const;
    expect(afterAnswer(play("idle", "I G D"), answer).end).toEqual({ type: "over" });
    expect(afterAnswer(play("idle", "I B D"), answer).end).toBeUndefined();
  });

  it("include all of an answer that is too long", () => {
    const turn = play("idle", "I R B 1 2 3 D", 5);
    expect([turn.text, turn.bytes]).toEqual(["", 6]);
  });
});

it("knows the open dialog", () => {
  expect(play("idle", "I R B E").dialog?.id).toBe("d");
  expect(play("idle", "I R B E e").dialog).toBeUndefined();
});
