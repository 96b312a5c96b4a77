import { create, type MessageInitShape } from "@bufbuild/protobuf";
import * as common from "../gen/gastown/v1/common_pb.ts";
import * as pb from "../gen/gastown/v1/sidecar_pb.ts";
import type * as pane from "../session/types.ts";
import { enumWords } from "./enum-words.ts";
import { evidenceMessage, evidenceOf } from "./evidence.ts";

export const OUTCOMES = enumWords<pane.NudgeOutcome>()(common.NudgeOutcome, {
  submitted: common.NudgeOutcome.SUBMITTED,
  queued: common.NudgeOutcome.QUEUED,
  stranded: common.NudgeOutcome.STRANDED,
  "blocked-by-dialog": common.NudgeOutcome.BLOCKED_BY_DIALOG,
  "composer-busy": common.NudgeOutcome.COMPOSER_BUSY,
  "agent-dead": common.NudgeOutcome.AGENT_DEAD,
  expired: common.NudgeOutcome.EXPIRED,
  unknown: common.NudgeOutcome.UNKNOWN,
  unsafe: common.NudgeOutcome.UNSAFE,
  cancelled: common.NudgeOutcome.CANCELLED,
});

const MODES = enumWords<pane.NudgeMode>()(pb.NudgeMode, {
  "wait-idle": pb.NudgeMode.WAIT_IDLE,
  immediate: pb.NudgeMode.IMMEDIATE,
  queue: pb.NudgeMode.QUEUE,
});

const PRIORITIES = enumWords<pane.NudgePriority>()(pb.NudgePriority, {
  normal: pb.NudgePriority.NORMAL,
  urgent: pb.NudgePriority.URGENT,
});

export function nudgeRequest(request: pane.NudgeRequest): MessageInitShape<typeof pb.SidecarNudgeRequestSchema> {
  return {
    message: request.message,
    requestId: request.requestId,
    mode: MODES.values[request.mode],
    timeoutMs: BigInt(request.timeoutMs),
    sender: request.sender,
    priority: PRIORITIES.values[request.priority],
    ttlMs: BigInt(request.ttlMs),
    quietMs: BigInt(request.quietMs ?? 0),
  };
}

/** `who`: the caller, as identified by the server. @throws DomainError `invalid` for an unknown value of an enum */
export function nudgeRequestOf(
  request: pb.SidecarNudgeRequest,
  who: Pick<pane.NudgeRequest, "sender" | "owner">,
): pane.NudgeRequest {
  return {
    ...who,
    message: request.message,
    requestId: request.requestId,
    mode: MODES.asked("mode", request.mode, "wait-idle"),
    timeoutMs: Number(request.timeoutMs),
    priority: PRIORITIES.asked("priority", request.priority, "normal"),
    ttlMs: Number(request.ttlMs),
    quietMs: Number(request.quietMs),
  };
}

export function nudgeResponse(receipt: pane.NudgeReceipt): MessageInitShape<typeof pb.SidecarNudgeResponseSchema> {
  return {
    delivered: receipt.outcome === "submitted",
    error: receipt.error,
    outcome: OUTCOMES.values[receipt.outcome],
    requestId: receipt.requestId,
    queuePosition: receipt.queuePosition,
    evidence: receipt.evidence.map(evidenceMessage),
    timings: {
      queuedMs: reached(receipt.timings.queuedMs),
      typedMs: reached(receipt.timings.typedMs),
      submittedMs: reached(receipt.timings.submittedMs),
      confirmedMs: reached(receipt.timings.confirmedMs),
    },
    deliveredText: receipt.deliveredText ?? "",
  };
}

/** An unknown outcome, which a newer sidecar may send, becomes `unknown`. */
export function nudgeReceipt(message: pb.SidecarNudgeResponse, sender: string): pane.NudgeReceipt {
  const receipt = {
    requestId: message.requestId,
    outcome: OUTCOMES.word(message.outcome) ?? "unknown",
    error: message.error,
    sender,
    queuePosition: message.queuePosition,
    evidence: message.evidence.map(evidenceOf),
    timings: timingsOf(message.timings),
  } as const;
  return message.deliveredText === "" ? receipt : { ...receipt, deliveredText: message.deliveredText };
}

/** A receipt as events carry it. */
export function receiptMessage(receipt: pane.NudgeReceipt): common.NudgeReceipt {
  const response = create(pb.SidecarNudgeResponseSchema, nudgeResponse(receipt));
  const { requestId, outcome, error, evidence, timings } = response;
  const { sender } = receipt;
  return create(common.NudgeReceiptSchema, { requestId, outcome, error, evidence, sender, timings });
}

/** The inverse of `receiptMessage`. */
export function eventReceipt(receipt: common.NudgeReceipt): pane.NudgeReceipt {
  const { requestId, outcome, error, evidence, timings, sender } = receipt;
  const response = { requestId, outcome, error, evidence, timings };
  return nudgeReceipt(create(pb.SidecarNudgeResponseSchema, response), sender);
}

/** On the wire 0 means that a step was not reached. */
function reached(ms: number | undefined): bigint {
  return ms === undefined ? 0n : BigInt(Math.max(1, ms));
}

/** The inverse of `reached`. */
function timingsOf(message: common.NudgeTimings | undefined): pane.NudgeTimings {
  const read = (value: bigint | undefined) => (value === undefined || value === 0n ? undefined : Number(value));
  const steps = {
    queuedMs: read(message?.queuedMs),
    typedMs: read(message?.typedMs),
    submittedMs: read(message?.submittedMs),
    confirmedMs: read(message?.confirmedMs),
  };
  return Object.fromEntries(Object.entries(steps).filter(([, value]) => value !== undefined));
}
