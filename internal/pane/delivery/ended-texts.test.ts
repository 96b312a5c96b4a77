import { expect, it } from "vitest";
import { SignalBus } from "../../base/signal-bus.ts";
import { hashOf } from "../../session/nudge-record.ts";
import type { NudgeOutcome } from "../../session/types.ts";
import { DELIVERED_TEXTS_KEEP, EndedTexts } from "./ended-texts.ts";
import type { TrackedNudge } from "./tracked-nudge.ts";

interface Ended {
  readonly outcome?: NudgeOutcome;
  readonly deliveredText?: string;
}

/** One that has ended. */
function tracked(message: string, { outcome = "submitted", deliveredText }: Ended = {}) {
  const reported = deliveredText === undefined ? {} : { deliveredText };
  const tracked: TrackedNudge = {
    nudge: {
      requestId: message,
      messageHash: hashOf(message),
      message,
      text: message,
      mode: "queue",
      priority: "normal",
      sender: "",
      acceptedAt: 0,
      expiresAt: 1,
    },
    phase: "ended",
    callerReleased: true,
    waiting: 0,
    attempts: 0,
    changed: new SignalBus(),
    receipt: {
      requestId: message,
      outcome,
      error: "",
      sender: "",
      queuePosition: 0,
      evidence: [],
      timings: {},
      ...reported,
    },
  };
  return tracked;
}

it("keeps only the last unsubmitted texts of ended messages, and the hash of each message", () => {
  const texts = new EndedTexts();
  const all = [
    tracked("before", { outcome: "stranded" }),
    tracked("submitted"),
    tracked("stranded", { outcome: "stranded" }),
    tracked("unknown", { outcome: "unknown" }),
    tracked("expired", { outcome: "expired" }),
  ];
  for (const each of all) texts.ended(each);
  expect(all.map(({ nudge }) => [nudge.message, nudge.text])).toEqual([
    ["", ""],
    ["", ""],
    ["stranded", "stranded"],
    ["unknown", "unknown"],
    ["", ""],
  ]);
  expect(all.map(({ nudge }) => nudge.messageHash)).toEqual(all.map(({ nudge }) => hashOf(nudge.requestId)));
});

it("keeps delivered texts up to a limit, the newest first", () => {
  const texts = new EndedTexts();
  const half = "x".repeat(DELIVERED_TEXTS_KEEP / 2);
  const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => tracked(id, { deliveredText: half })) as [
    TrackedNudge,
    TrackedNudge,
    TrackedNudge,
    TrackedNudge,
  ];
  for (const each of [a, b]) texts.ended(each);
  expect([a, b].map(({ receipt }) => receipt?.deliveredText?.length)).toEqual([half.length, half.length]);
  texts.ended(c);
  expect([a, b, c].map(({ receipt }) => receipt?.deliveredText?.length)).toEqual([undefined, half.length, half.length]);
  expect(a.receipt).toMatchObject({ requestId: "a", outcome: "submitted" });
  texts.forgotten(b); // with its receipt: there is room for another
  texts.ended(d);
  expect([c, d].map(({ receipt }) => receipt?.deliveredText?.length)).toEqual([half.length, half.length]);
});
