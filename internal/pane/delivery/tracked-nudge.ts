import type { SignalBus } from "../../base/signal-bus.ts";
import { wasTyped } from "../../session/kept-ids.ts";
import type { AcceptedNudge } from "../../session/nudge-record.ts";
import type { NudgeOutcome, NudgeReceipt } from "../../session/types.ts";
import type { DeliveryResult } from "./delivery-attempt.ts";

/** One message on its way; owned and changed by the mailbox only. */
export interface TrackedNudge {
  nudge: AcceptedNudge;
  /** `unseen`: an earlier process was typing it when it died. */
  phase: "waiting" | "delivering" | "unseen" | "ended";
  /** The caller has its answer (QUEUED) or is gone. */
  callerReleased: boolean;
  /** Callers that wait for its end. */
  waiting: number;
  /** Attempts that typed nothing. */
  attempts: number;
  /** The check of the delivery policy that held it last. */
  heldBy?: string;
  /** Ctrl-C or Escape was pressed while it was being typed. */
  interrupted?: boolean;
  /** Monotonic ms of its acceptance; absent when an earlier process accepted it. */
  readonly acceptedMonotonicMs?: number;
  /** Milliseconds from its acceptance to the beginning of the last attempt. */
  startedMs?: number;
  receipt?: NudgeReceipt | undefined;
  /** Wall clock, ms. */
  endedAt?: number | undefined;
  /** The same time on the timeline by which receipts age; see `MachineTime`. */
  endedMs?: number | undefined;
  readonly changed: SignalBus;
}

/**
 * The receipt for an outcome. Its times count from the acceptance of the nudge, those of `result` from the beginning of
 * the attempt.
 */
export function receiptOf(
  tracked: TrackedNudge,
  outcome: NudgeOutcome,
  error: string,
  result?: DeliveryResult & { readonly type: "done" },
): NudgeReceipt {
  const { nudge } = tracked;
  const { startedMs } = tracked;
  const fromAcceptance = (ms: number | undefined) => (ms === undefined ? undefined : (startedMs ?? 0) + ms);
  const steps = {
    queuedMs: outcome === "unsafe" ? undefined : 0,
    startedMs,
    pastedMs: fromAcceptance(result?.pastedMs),
    typedMs: fromAcceptance(result?.typedMs),
    submittedMs: fromAcceptance(result?.submittedMs),
    confirmedMs: fromAcceptance(result?.confirmedMs),
  };
  const timings = Object.fromEntries(Object.entries(steps).filter(([, ms]) => ms !== undefined));
  const isChanged = wasTyped(outcome) && nudge.text !== nudge.message;
  return {
    requestId: nudge.requestId,
    outcome,
    error,
    sender: nudge.sender,
    queuePosition: 0,
    evidence: result?.evidence ?? [],
    timings,
    deliveredText: isChanged ? nudge.text : undefined,
  };
}
