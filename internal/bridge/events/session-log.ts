import { create, toBinary } from "@bufbuild/protobuf";
import type { Clock } from "../../base/clock.ts";
import type { Subscriber } from "../../eventlog/cursors.ts";
import type { LogCursor } from "../../eventlog/log-cursor.ts";
import { SessionEventSchema } from "../../gen/bridge/v1/bridge_pb.ts";
import { SidecarEventSchema } from "../../gen/gastown/v1/sidecar_pb.ts";
import { EncodedFrame, type StreamFrame } from "../../rpc/server/frames.ts";
import type { FollowedEvent, SessionEvent } from "../../session/event-types.ts";
import type { EventsRequest, SessionEvents } from "../../session/events.ts";
import { type EventSession, eventMessage } from "../../wire/event.ts";
import type { EventFeed } from "../session-backend.ts";
import { EventFanout, type FrameCursor } from "./event-fanout.ts";

/** The events of one session for subscribers. */
export interface SessionLog {
  /** Empty: not known yet. */
  readonly epoch: string;
  readonly head: bigint;
  /** Memory that the events take, roughly. */
  readonly bytes: number;
  /** @throws DomainError `precondition`, `invalid` (the subscriber's name) */
  open(request: EventsRequest): EventFeed;
  /** @throws DomainError `precondition`, `invalid` */
  acknowledge(who: Subscriber, seq: bigint, epoch: string): void;
}

export interface EncodedEventsDeps {
  readonly clock: Clock;
  readonly events: SessionEvents;
  readonly session: EventSession;
}

/** Events that were made in this process; each is encoded once, when the first subscriber gets it. */
export class EncodedEvents implements SessionLog {
  readonly #deps: EncodedEventsDeps;
  readonly #fanout: EventFanout;
  readonly #frames = new WeakMap<SessionEvent, StreamFrame>();

  constructor(deps: EncodedEventsDeps) {
    this.#deps = deps;
    this.#fanout = new EventFanout(deps.events.log);
  }

  get epoch(): string {
    return this.#deps.events.epoch;
  }

  get head(): bigint {
    return this.#deps.events.head;
  }

  get bytes(): number {
    return this.#deps.events.bytes;
  }

  open(request: EventsRequest): EventFeed {
    const cursor = this.#deps.events.open(request);
    return { pipe: (target, signal) => this.#fanout.pipe(this.#framesOf(cursor), target, signal) };
  }

  acknowledge(who: Subscriber, seq: bigint, epoch: string): void {
    this.#deps.events.acknowledge(who, seq, epoch);
  }

  #framesOf(cursor: LogCursor<SessionEvent>): FrameCursor {
    return {
      next: () => {
        const followed = cursor.next();
        return followed && this.#frameOf(followed);
      },
    };
  }

  #frameOf(followed: FollowedEvent): StreamFrame {
    if (followed.type === "missing") return this.#encode(followed);
    const frame = this.#frames.get(followed.event) ?? this.#encode(followed);
    this.#frames.set(followed.event, frame);
    return frame;
  }

  #encode(followed: FollowedEvent): StreamFrame {
    const { session, clock } = this.#deps;
    return eventFrame(
      toBinary(SidecarEventSchema, create(SidecarEventSchema, eventMessage(followed, session, clock.now()))),
    );
  }
}

/** `payload`: an encoded SidecarEvent, whose bytes are also those of a SessionEvent. */
export function eventFrame(payload: Uint8Array): StreamFrame {
  return new EncodedFrame(SessionEventSchema, payload);
}
