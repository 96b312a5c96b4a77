import { describe, expect, it } from "vitest";
import { machineTime } from "../../test/support/machine-time.ts";
import { NudgeFold } from "./nudge-fold.ts";
import { type AcceptedNudge, type NudgeRecord, restoreNudges } from "./nudge-record.ts";
import type { NudgeOutcome, NudgeReceipt } from "./types.ts";

const DAY_MS = 86_400_000;

function accepted(requestId: string): NudgeRecord & { readonly nudge: AcceptedNudge } {
  const text = `text of ${requestId}`;
  const how = { mode: "wait-idle", priority: "normal", sender: "s", acceptedAt: 1, expiresAt: 2 } as const;
  return { type: "accepted", nudge: { requestId, messageHash: "h", message: text, text, ...how } };
}

function ended(requestId: string, outcome: NudgeOutcome = "submitted"): NudgeRecord {
  const nothing = { error: "", queuePosition: 0, evidence: [], timings: {} } as const;
  const receipt: NudgeReceipt = { requestId, outcome, sender: "s", ...nothing };
  return { type: "ended", receipt, at: 5 };
}

function folded(...steps: readonly (NudgeRecord | "damaged")[]) {
  const fold = new NudgeFold();
  for (const step of steps) {
    if (step === "damaged") fold.damaged();
    else fold.take(step);
  }
  return restoreNudges(fold.records(), machineTime(), DAY_MS, { total: 10_000, ofOne: 10_000 });
}

describe("nudges of a journal", () => {
  it("keep their place in the queue, their intent and its withdrawal", () => {
    const steps: NudgeRecord[] = [accepted("a"), accepted("b"), accepted("c")];
    steps.push({ type: "intent", requestId: "a" }, { type: "intent", requestId: "b" });
    steps.push({ type: "withdrawn", requestId: "b" });
    expect(folded(...steps).map(({ nudge, intent }) => [nudge.requestId, intent])).toEqual([
      ["a", true],
      ["b", false],
      ["c", false],
    ]);
  });

  it.each(["stranded", "unknown"] as const)(
    "keep the text of one that ended %s, which may still be in the composer",
    (outcome) => {
      expect(folded(accepted("a"), ended("a", outcome))[0]?.nudge.text).toBe("text of a");
    },
  );

  it("keep no text of a submitted one", () => {
    expect(folded(accepted("a"), ended("a"))[0]?.nudge).toMatchObject({ requestId: "a", text: "", message: "" });
  });

  it("are bounded: the oldest open ones above the limit are dropped and counted", () => {
    const fold = new NudgeFold();
    for (let i = 0; i < 200; i++) fold.take(accepted(`n${i}`));
    expect(fold.forgotten).toBe(72);
    expect(fold.records()[0]).toMatchObject({ nudge: { requestId: "n72" } });
  });
});

describe("ended nudges above the limit", () => {
  const idsOf = (fold: NudgeFold) =>
    new Set(fold.records().map((each) => (each.type === "accepted" ? each.nudge.requestId : "")));
  const end = (fold: NudgeFold, prefix: string, count: number, outcome: NudgeOutcome) => {
    for (let i = 0; i < count; i++)
      for (const step of [accepted(`${prefix}${i}`), ended(`${prefix}${i}`, outcome)]) fold.take(step);
  };

  it("are dropped starting with those that were never typed, the oldest first", () => {
    const fold = new NudgeFold();
    end(fold, "typed", 1, "submitted");
    end(fold, "untyped", 20_000, "expired");
    end(fold, "late", 1, "unknown");
    const ids = idsOf(fold);
    expect([ids.has("typed0"), ids.has("late0"), ids.has("untyped1"), ids.has("untyped2")]).toEqual([
      true,
      true,
      false,
      true,
    ]);
  });

  it("are dropped by age if all were typed", () => {
    const fold = new NudgeFold();
    end(fold, "typed", 20_001, "submitted");
    const ids = idsOf(fold);
    expect([ids.has("typed0"), ids.has("typed1")]).toEqual([false, true]);
  });
});

describe("after the loss of a record in the journal", () => {
  it("no earlier open nudge counts as untyped, because the lost record may have been its intent", () => {
    expect(folded(accepted("a"), "damaged", accepted("b")).map(({ intent }) => intent)).toEqual([true, false]);
  });

  it("an end without its beginning keeps the id in use", () => {
    expect(folded("damaged", ended("a"))[0]).toMatchObject({
      nudge: { requestId: "a", messageHash: "" },
      ended: { receipt: { outcome: "submitted" } },
    });
  });

  it("an ended id is not accepted a second time", () => {
    const [only, ...others] = folded(accepted("a"), ended("a"), accepted("a"));
    expect([only?.ended?.receipt.outcome, others]).toEqual(["submitted", []]);
  });
});
