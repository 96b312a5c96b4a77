import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  EventType,
  type SessionEvent,
  SessionEventSchema,
  type StreamEventsRequestSchema,
} from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { GapReason } from "../../internal/gen/gastown/v1/common_pb.ts";
import { BridgeError } from "./errors.ts";

/** The position at which a reader starts. */
export interface EventStart {
  readonly sessionId: string;
  readonly subscriberId: string;
  readonly afterSeq: bigint | undefined;
  readonly epoch: string;
}

/** A reader's position in one session's events: what to request next, and what was already delivered. */
export class EventPosition {
  readonly #start: EventStart;
  #epoch: string;
  #seq: bigint | undefined;

  constructor(start: EventStart) {
    this.#start = start;
    this.#epoch = start.epoch;
    this.#seq = start.afterSeq;
  }

  /** Epoch of the events so far; empty: not known. */
  get epoch(): string {
    return this.#epoch;
  }

  /** The request for all events that were not delivered yet. */
  request(): MessageInitShape<typeof StreamEventsRequestSchema> {
    const { sessionId, subscriberId } = this.#start;
    const after = this.#seq === undefined ? {} : { afterSeq: this.#seq };
    return { sessionId, subscriberId, epoch: this.#epoch, ...after };
  }

  /**
   * The events to deliver for an event that has arrived: none if it was delivered before; first a gap if it does not
   * follow the last delivered event.
   * @throws BridgeError `data_loss` for an event of another session
   */
  take(event: SessionEvent): readonly SessionEvent[] {
    if (event.sessionId !== "" && event.sessionId !== this.#start.sessionId) {
      throw new BridgeError(
        "data_loss",
        `the bridge sent an event of another session: ${event.sessionId.slice(0, 128)}`,
      );
    }
    if (this.#epoch !== "" && event.epoch !== this.#epoch && event.gap === undefined) {
      return [this.beginAgain(event.epoch), ...this.take(event)];
    }
    const continues = event.epoch === this.#epoch && this.#seq !== undefined;
    const last = this.#seq ?? 0n;
    if (continues && event.seq <= last) return [];
    this.#epoch = event.epoch;
    this.#seq = event.seq;
    const isGap = event.type === EventType.BUFFER_OVERFLOW;
    if (!continues || isGap || event.seq === last + 1n) return [event];
    const gap = { first: last + 1n, to: event.seq, reason: GapReason.EVICTED };
    return [this.#overflow(event, event.seq - 1n, gap, "the bridge has left out events"), event];
  }

  /**
   * The log has restarted with the epoch `epoch`: continues from the beginning of the new log. Returns the gap event to
   * deliver.
   */
  beginAgain(epoch: string): SessionEvent {
    const first = (this.#seq ?? 0n) + 1n;
    const gap = { first, to: 0n, reason: GapReason.RESTART };
    this.#epoch = epoch;
    this.#seq = 0n;
    return this.#overflow({ epoch }, 0n, gap, "the session's log has restarted: later events of the old log are lost");
  }

  #overflow(
    like: Pick<SessionEvent, "epoch"> & Partial<SessionEvent>,
    seq: bigint,
    gap: { readonly first: bigint; readonly to: bigint; readonly reason: GapReason },
    error: string,
  ): SessionEvent {
    const { sessionId } = this.#start;
    const { epoch, projectId = "", provider = "", timestamp } = like;
    const when = timestamp === undefined ? {} : { timestamp };
    const event = { type: EventType.BUFFER_OVERFLOW, stream: "system", sessionId, projectId, provider, epoch, ...when };
    return create(SessionEventSchema, { ...event, seq, gap, error });
  }
}
