import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import type { Clock } from "../../base/clock.ts";
import type { Followed } from "../../eventlog/follow.ts";
import { EventType, GapSchema, NudgeReceiptSchema } from "../../gen/gastown/v1/common_pb.ts";
import {
  type SidecarAckEventsRequest,
  type SidecarEventSchema,
  SidecarNudgeResponseSchema,
  type SidecarStreamEventsRequest,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import { callerKey } from "../../rpc/port/caller.ts";
import { sendHead } from "../../rpc/server/response-head.ts";
import type { SessionEvent } from "../../session/event-types.ts";
import type { SessionEvents } from "../../session/events.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import { dialog, GAPS, nudgeResponse, STATES } from "../../wire/to-proto.ts";
import type { SidecarIdentity } from "../halves/options.ts";

type EventInit = MessageInitShape<typeof SidecarEventSchema>;

const TYPES = {
  "session-started": EventType.SESSION_STARTED,
  "session-stopped": EventType.SESSION_STOPPED,
  "session-failed": EventType.SESSION_FAILED,
  stdout: EventType.STDOUT,
  "output-lost": EventType.BUFFER_OVERFLOW,
  "input-received": EventType.INPUT_RECEIVED,
  "nudge-receipt": EventType.NUDGE_RECEIPT,
  "phase-changed": EventType.PHASE_CHANGED,
  "dialog-opened": EventType.DIALOG_OPENED,
  "dialog-closed": EventType.DIALOG_CLOSED,
} as const satisfies Record<SessionEvent["type"], EventType>;

export interface EventServiceDeps {
  readonly clock: Clock;
  readonly agent: { readonly events: SessionEvents };
  readonly identity: SidecarIdentity;
  readonly provider: string;
}

/**
 * StreamEvents and AckEvents. A stream's headers tell that it has begun: from then on no event is missed, however long the
 * first one takes. It takes an event from the log when the transport has taken the one before.
 */
export function eventMethods({ clock, agent, identity, provider }: EventServiceDeps) {
  const { events } = agent;
  const { sessionId, project } = identity;
  const session = { sessionId, projectId: project, provider };
  return {
    async *streamEvents(request: SidecarStreamEventsRequest, context: HandlerContext) {
      const { afterSeq, subscriberId: subscriber, epoch: wanted } = request;
      const after = afterSeq === undefined ? {} : { after: afterSeq };
      const followed = events.follow({ ...after, subscriber, owner: ownerOf(context), epoch: wanted }, context.signal);
      sendHead(context);
      for await (const each of followed) yield { ...eventMessage(each, clock.now()), ...session };
    },
    ackEvents({ subscriberId: subscriber, ackSeq, epoch }: SidecarAckEventsRequest, context: HandlerContext) {
      events.acknowledge({ owner: ownerOf(context), subscriber }, ackSeq, epoch);
      return {};
    },
  };
}

/** `now`: wall clock, ms. */
function eventMessage(followed: Followed<SessionEvent>, now: number): EventInit {
  const { seq, epoch } = followed;
  if (followed.type === "missing") {
    const { reason, ...range } = followed.missing;
    const gap = create(GapSchema, { ...range, reason: GAPS[reason] });
    return { seq, epoch, timestamp: timestampFromMs(now), type: EventType.BUFFER_OVERFLOW, stream: "system", gap };
  }
  const { event } = followed;
  const stream = event.type === "stdout" ? "stdout" : "system";
  const common = { seq, epoch, timestamp: timestampFromMs(event.at), type: TYPES[event.type], stream };
  return { ...common, ...contentOf(event, seq) };
}

function contentOf(event: SessionEvent, seq: bigint): EventInit {
  switch (event.type) {
    case "session-started":
      return {};
    case "session-stopped":
      return { done: event.done };
    case "session-failed":
      return { done: event.done, error: event.error };
    case "stdout":
      return { text: event.text };
    case "output-lost":
      // It stands where the lines would have stood: no other event is missing.
      return {
        error: event.error,
        gap: create(GapSchema, { first: seq, to: seq + 1n, reason: GAPS[event.reason] }),
      };
    case "input-received":
      return { requestId: event.requestId, text: event.text };
    case "nudge-receipt":
      return { requestId: event.receipt.requestId, receipt: receiptMessage(event.receipt) };
    case "phase-changed":
      return { state: STATES[event.state], text: event.text };
    case "dialog-opened":
    case "dialog-closed":
      return { dialog: dialog(event.dialog) };
  }
}

function receiptMessage(receipt: NudgeReceipt) {
  const { requestId, outcome, error, evidence, timings } = create(SidecarNudgeResponseSchema, nudgeResponse(receipt));
  const { sender } = receipt;
  return create(NudgeReceiptSchema, { requestId, outcome, error, evidence, ...(timings && { timings }), sender });
}

function ownerOf(context: HandlerContext): string {
  return context.values.get(callerKey).identity;
}
