import type { SignalBus } from "../../base/signal-bus.ts";
import type { AcceptedNudge } from "../../session/nudge-record.ts";
import type { NudgeOutcome, NudgeReceipt } from "../../session/types.ts";
import type { DeliveryResult } from "./delivery-attempt.ts";

/** One message on its way; owned and changed by the mailbox only. */
export interface Letter {
  nudge: AcceptedNudge;
  /** `unseen`: an earlier process was typing it when it died. */
  phase: "waiting" | "delivering" | "unseen" | "ended";
  /** The caller has its answer (QUEUED) or is gone. */
  told: boolean;
  /** Callers that wait for its end. */
  waiting: number;
  /** Attempts that typed nothing. */
  attempts: number;
  /** Somebody pressed Ctrl-C or Escape while it was being typed. */
  interrupted?: boolean;
  /** Wall clock, ms: when the first attempt began. */
  startedAt?: number;
  receipt?: NudgeReceipt;
  endedAt?: number;
  readonly changed: SignalBus;
}

/** The receipt for an outcome; times of the attempt are told from the acceptance on. */
export function receiptOf(
  letter: Letter,
  outcome: NudgeOutcome,
  error: string,
  result?: DeliveryResult & { readonly type: "done" },
): NudgeReceipt {
  const { nudge } = letter;
  const queuedMs = letter.startedAt === undefined ? undefined : Math.max(0, letter.startedAt - nudge.acceptedAt);
  const fromAcceptance = (ms: number | undefined) => (ms === undefined ? undefined : (queuedMs ?? 0) + ms);
  const steps = {
    queuedMs,
    typedMs: fromAcceptance(result?.typedMs),
    submittedMs: fromAcceptance(result?.submittedMs),
    confirmedMs: fromAcceptance(result?.confirmedMs),
  };
  const timings = Object.fromEntries(Object.entries(steps).filter(([, ms]) => ms !== undefined));
  const typed = result?.typedMs !== undefined && nudge.text !== nudge.message;
  return {
    requestId: nudge.requestId,
    outcome,
    error,
    sender: nudge.sender,
    queuePosition: 0,
    evidence: result?.evidence ?? [],
    timings,
    ...(typed ? { deliveredText: nudge.text } : {}),
  };
}
