import { randomUUID } from "node:crypto";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { Cursors, type Subscriber } from "../../eventlog/cursors.ts";
import { checkPosition, LogCursor, type Missing } from "../../eventlog/log-cursor.ts";
import { EventType, GapReason } from "../../gen/gastown/v1/common_pb.ts";
import {
  type SidecarEvent,
  SidecarEventSchema,
  SidecarService,
  SidecarStreamEventsRequestSchema,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import type { StreamFrame } from "../../rpc/server/frames.ts";
import type { EventsRequest } from "../../session/events.ts";
import { checkAcknowledgement, checkSubscriber, SUBSCRIBER_LIMITS } from "../../session/subscriber.ts";
import { type EventSession, eventMessage } from "../../wire/event.ts";
import type { Actor, EventFeed, SessionTerminal } from "../session-backend.ts";
import { EventFanout } from "./event-fanout.ts";
import { MirrorLog, type MirrorLogOptions } from "./mirror-log.ts";
import { eventFrame, type SessionLog } from "./session-log.ts";

export interface MirroredEventsDeps {
  readonly clock: Clock;
  readonly session: EventSession;
  /** Called once for each event, in order. */
  readonly onEvent: (event: SidecarEvent) => void;
}

/** Memory of an event in addition to its bytes, roughly. */
const EVENT_BYTES = 200;
const RETRY_MS = 250;
/** The caller that the bridge names when it reads the sidecar's events itself. */
const BRIDGE: Actor = { identity: "bridge", role: "operate" };

/**
 * The events of a sidecar, read once for all subscribers, with the sidecar's numbers and encoding. They stay readable
 * after the sidecar has ended.
 */
export class MirroredEvents implements SessionLog {
  readonly #deps: MirroredEventsDeps;
  readonly #log: MirrorLog<StreamFrame>;
  readonly #fanout: EventFanout;
  readonly #cursors = new Cursors(SUBSCRIBER_LIMITS);
  /** Why the numbers before the next event are missing. */
  #hole: Missing["reason"] | undefined;
  /** The session's last event, held back until `finish`: subscribers get it when nothing of the session is left. */
  #last: { readonly seq: bigint; readonly payload: Uint8Array } | undefined;
  /** The sidecar no longer has events at our position. */
  #isLost = false;

  constructor(deps: MirroredEventsDeps, options: MirrorLogOptions) {
    this.#deps = deps;
    this.#log = new MirrorLog(options);
    this.#fanout = new EventFanout(this.#log);
  }

  get epoch(): string {
    return this.#log.epoch;
  }

  get head(): bigint {
    return this.#log.head;
  }

  get bytes(): number {
    return this.#log.bytes;
  }

  /** The sidecar has sent the session's last event. */
  get isOver(): boolean {
    return this.#last !== undefined;
  }

  /** Why the session failed, from its last event; undefined: it did not fail, or the event has not arrived. */
  get failure(): string | undefined {
    if (this.#last === undefined) return undefined;
    const { type, error } = fromBinary(SidecarEventSchema, this.#last.payload);
    return type === EventType.SESSION_FAILED ? error || "the agent failed" : undefined;
  }

  open(request: EventsRequest): EventFeed {
    const { owner, subscriber, epoch } = request;
    if (epoch !== "" || request.after !== undefined) this.#checkBegun();
    if (subscriber !== "") checkSubscriber(subscriber);
    const known =
      subscriber === "" ? undefined : this.#cursors.position({ owner, subscriber }, this.#deps.clock.monotonicMs());
    const after = request.after ?? known;
    const cursor = LogCursor.open(this.#log, { epoch, after });
    const next = () => {
      const followed = cursor.next();
      return followed?.type === "missing" ? this.#gapFrame(followed) : followed?.event;
    };
    return { pipe: (target, signal) => this.#fanout.pipe({ next }, target, signal) };
  }

  /** The position that a subscriber has acknowledged here; 0: none. */
  positionOf(who: Subscriber): bigint {
    return this.#cursors.position(who, this.#deps.clock.monotonicMs());
  }

  acknowledge(who: Subscriber, seq: bigint, epoch: string): void {
    checkAcknowledgement(who.subscriber, epoch);
    this.#checkBegun();
    checkPosition(this.#log, epoch, seq);
    this.#cursors.advance(who, seq, this.#deps.clock.monotonicMs());
  }

  /** Reads the sidecar's events until the last one; reconnects if the stream breaks. */
  async run(terminal: SessionTerminal, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.isOver) {
      try {
        await this.#read(terminal, signal);
      } catch (err) {
        if (err instanceof DomainError && err.kind === "precondition") this.#isLost = true;
      }
      await this.#deps.clock.sleep(RETRY_MS, signal).catch(() => {});
    }
  }

  /** Appends the last event, made here if the sidecar ended without sending it, and closes the log. */
  finish(error: string | undefined): void {
    const { seq, payload } = this.#last ?? this.#lastEvent(error);
    this.#append(seq, payload);
    this.#log.close();
  }

  /**
   * @throws DomainError `unavailable` before the first event: the epoch is not known yet, so a position cannot be
   * checked
   */
  #checkBegun(): void {
    if (this.#log.epoch !== "") return;
    throw new DomainError("unavailable", "the session's sidecar has not sent an event yet: no position is known");
  }

  #lastEvent(error: string | undefined) {
    if (this.#log.epoch === "") this.#log.begin(randomUUID());
    const { clock, session } = this.#deps;
    const what = error === undefined ? { type: EventType.SESSION_STOPPED } : { type: EventType.SESSION_FAILED, error };
    const seq = this.#log.head + 1n;
    const event = create(SidecarEventSchema, {
      ...{ ...session, ...what, seq, epoch: this.#log.epoch, stream: "system", done: true },
      timestamp: timestampFromMs(clock.now()),
    });
    return { seq, payload: toBinary(SidecarEventSchema, event) };
  }

  async #read(terminal: SessionTerminal, signal: AbortSignal): Promise<void> {
    const { epoch, head } = this.#log;
    const from = epoch === "" || this.#isLost ? {} : { afterSeq: head, epoch };
    this.#isLost = false;
    const request = create(SidecarStreamEventsRequestSchema, from);
    for await (const payload of terminal.stream(SidecarService.method.streamEvents, request, BRIDGE, signal)) {
      this.#take(payload);
      if (this.isOver) return;
    }
  }

  #take(payload: Uint8Array): void {
    const event = fromBinary(SidecarEventSchema, payload);
    const { seq, epoch, gap, done } = event;
    this.#begin(epoch);
    if (gap !== undefined && gap.first !== seq) {
      this.#hole = gap.reason === GapReason.RESTART ? "restart" : "evicted";
      return;
    }
    if (seq <= this.#log.head) return;
    if (done) this.#last = { seq, payload };
    else this.#append(seq, payload);
    this.#deps.onEvent(event);
  }

  #append(seq: bigint, payload: Uint8Array): void {
    this.#log.append(seq, eventFrame(payload), EVENT_BYTES + payload.length, this.#hole);
    this.#hole = undefined;
  }

  #begin(epoch: string): void {
    if (epoch === this.#log.epoch) return;
    this.#log.begin(epoch);
    this.#cursors.clear();
  }

  #gapFrame(followed: Parameters<typeof eventMessage>[0]): StreamFrame {
    const { session, clock } = this.#deps;
    const message = create(SidecarEventSchema, eventMessage(followed, session, clock.now()));
    return eventFrame(toBinary(SidecarEventSchema, message));
  }
}
