import { expect, it } from "vitest";
import { SignalBus } from "../../base/signal-bus.ts";
import { hashOf } from "../../session/nudge-record.ts";
import type { DeliveryResult } from "./delivery-attempt.ts";
import { receiptOf, type TrackedNudge } from "./tracked-nudge.ts";

function tracked(part: { readonly text?: string; readonly startedMs?: number } = {}): TrackedNudge {
  const nudge = {
    requestId: "r1",
    messageHash: hashOf("hi"),
    message: "hi",
    text: part.text ?? "hi",
    mode: "wait-idle",
    priority: "normal",
    sender: "me",
    acceptedAt: 10_000,
    expiresAt: 99_000,
  } as const;
  const started = part.startedMs === undefined ? {} : { startedMs: part.startedMs };
  return {
    nudge,
    phase: "waiting",
    callerReleased: false,
    waiting: 0,
    attempts: 0,
    changed: new SignalBus(),
    ...started,
  };
}

const evidence = [{ source: "hook", value: "took it", ageMs: 1, confidence: "proof" }] as const;
const done = (times: object): DeliveryResult & { readonly type: "done" } => ({
  type: "done",
  outcome: "submitted",
  error: "",
  evidence,
  ...times,
});

it("reports every step's time since the acceptance", () => {
  const receipt = receiptOf(
    tracked({ startedMs: 300 }),
    "submitted",
    "",
    done({ pastedMs: 2, typedMs: 5, submittedMs: 40, confirmedMs: 60 }),
  );
  expect(receipt).toEqual({
    requestId: "r1",
    outcome: "submitted",
    error: "",
    sender: "me",
    queuePosition: 0,
    evidence,
    timings: { queuedMs: 0, startedMs: 300, pastedMs: 302, typedMs: 305, submittedMs: 340, confirmedMs: 360 },
  });
});

it("leaves out the times of steps that were not reached", () => {
  expect(receiptOf(tracked(), "unsafe", "nothing is left of it").timings).toEqual({});
  expect(receiptOf(tracked(), "cancelled", "called off").timings).toEqual({ queuedMs: 0 });
  const dead = receiptOf(tracked({ startedMs: 7 }), "agent-dead", "dead", done({}));
  expect(dead.timings).toEqual({ queuedMs: 0, startedMs: 7 });
});

it("reports the typed text only if it differs from the message and was typed", () => {
  expect(receiptOf(tracked({ text: "[nudge] hi" }), "submitted", "", done({ typedMs: 1 })).deliveredText).toBe(
    "[nudge] hi",
  );
  expect(receiptOf(tracked({ text: "[nudge] hi" }), "cancelled", "called off").deliveredText).toBeUndefined();
  expect(receiptOf(tracked(), "submitted", "", done({ typedMs: 1 })).deliveredText).toBeUndefined();
});
