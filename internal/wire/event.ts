import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { EventType, GapSchema } from "../gen/gastown/v1/common_pb.ts";
import type { SidecarEventSchema } from "../gen/gastown/v1/sidecar_pb.ts";
import type { FollowedEvent, SessionEvent } from "../session/event-types.ts";
import { dialogMessage } from "./dialog.ts";
import { enumWords } from "./enum-words.ts";
import { receiptMessage } from "./nudge.ts";
import { STATES } from "./status.ts";
import { GAPS } from "./watch.ts";

type EventInit = MessageInitShape<typeof SidecarEventSchema>;

/** The session that an event belongs to. */
export interface EventSession {
  readonly sessionId: string;
  readonly projectId: string;
  readonly provider: string;
}

const TYPES = enumWords<SessionEvent["type"]>()(EventType, {
  "session-started": EventType.SESSION_STARTED,
  "session-stopped": EventType.SESSION_STOPPED,
  "session-failed": EventType.SESSION_FAILED,
  stdout: EventType.STDOUT,
  stderr: EventType.STDERR,
  "output-lost": EventType.BUFFER_OVERFLOW,
  "input-received": EventType.INPUT_RECEIVED,
  "nudge-receipt": EventType.NUDGE_RECEIPT,
  "phase-changed": EventType.PHASE_CHANGED,
  "dialog-opened": EventType.DIALOG_OPENED,
  "dialog-closed": EventType.DIALOG_CLOSED,
});

/**
 * The message for an event, or for a gap in the events of a reader. It has the same encoding as a
 * `bridge.v1.SessionEvent`. `now`: wall clock, ms.
 */
export function eventMessage(followed: FollowedEvent, session: EventSession, now: number): EventInit {
  return { ...ofFollowed(followed, now), ...session };
}

function ofFollowed(followed: FollowedEvent, now: number): EventInit {
  const { seq, epoch } = followed;
  if (followed.type === "missing") {
    const { reason, ...range } = followed.missing;
    const gap = create(GapSchema, { ...range, reason: GAPS.values[reason] });
    return { seq, epoch, timestamp: timestampFromMs(now), type: EventType.BUFFER_OVERFLOW, stream: "system", gap };
  }
  const { event } = followed;
  const stream = event.type === "stdout" || event.type === "stderr" ? event.type : "system";
  const common = { seq, epoch, timestamp: timestampFromMs(event.at), type: TYPES.values[event.type], stream };
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
    case "stderr":
      return { text: event.text };
    case "output-lost":
      // The event itself stands for the lost lines: no other event is missing.
      return {
        error: event.error,
        gap: create(GapSchema, { first: seq, to: seq + 1n, reason: GAPS.values[event.reason] }),
      };
    case "input-received":
      return { requestId: event.requestId, text: event.text };
    case "nudge-receipt":
      return { requestId: event.receipt.requestId, receipt: receiptMessage(event.receipt) };
    case "phase-changed":
      return { state: STATES.values[event.state], text: event.text };
    case "dialog-opened":
    case "dialog-closed":
      return { dialog: dialogMessage(event.dialog) };
  }
}
