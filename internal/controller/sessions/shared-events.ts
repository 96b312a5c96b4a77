import { create } from "@bufbuild/protobuf";
import { raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { Slots } from "../../base/slots.ts";
import type { Actor, EventFeed, SessionEventsRequest, SessionTerminal } from "../../bridge/session-backend.ts";
import { UNREAD_BYTES } from "../../bridge/unread-stream.ts";
import { SessionEventSchema } from "../../gen/bridge/v1/bridge_pb.ts";
import {
  type SidecarEvent,
  SidecarService,
  SidecarStreamEventsRequestSchema,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import { EncodedFrame, type FrameTarget } from "../../rpc/server/frames.ts";
import { EventTail, type ReadUpTo } from "./event-tail.ts";
import { type EventOwner, ownEvent } from "./own-event.ts";

interface Shared {
  readonly tail: EventTail;
  /** Resolves when the tail has ended. */
  readonly over: Promise<void>;
  readers: number;
  /** When the last reader left (monotonic, ms), and whether a timer to close the stream is running. */
  leftAt: number;
  isIdle: boolean;
}

/** The events of one session's sidecar. */
export interface EventsOf {
  readonly key: EventOwner;
  /** Uid of the pod. */
  readonly uid: string;
  /** The current connection to the sidecar. @throws DomainError `unavailable` */
  readonly terminal: () => SessionTerminal;
  /** New events may arrive. */
  readonly isLive: boolean;
}

/** A sidecar's stream without readers is closed after this time. */
const IDLE_MS = 30_000;
const BEGIN_MS = 2_000;
/**
 * The most streams of a project that `listen` opens concurrently: its first overview would otherwise connect to all
 * sidecars at once.
 */
const AT_A_TIME = 16;

/**
 * The events of sidecars for any number of readers. A reader that is behind has its own stream from the sidecar;
 * readers that have caught up share one stream. Sidecars own positions and acknowledgements, so a reader may continue
 * at any replica.
 */
export class SharedEvents implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #shared = new Map<string, Shared>();
  readonly #running = new Set<Promise<void>>();
  readonly #life = new AbortController();
  /** By project, so that hung sidecars do not delay other projects. */
  readonly #opening = new Map<string, Slots>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of shared streams. */
  get open(): number {
    return this.#shared.size;
  }

  feed(session: EventsOf, request: SessionEventsRequest, caller: Actor): EventFeed {
    return { pipe: (target, signal) => this.#pipe(session, request, caller, target, signal) };
  }

  /**
   * Calls `hear` with each new event on the shared stream. Resolves after the session's last event, or if the session's
   * sidecar stays away; rejects with the signal's reason.
   */
  async listen(session: EventsOf, hear: (event: SidecarEvent) => void, signal: AbortSignal): Promise<void> {
    const { project } = session.key;
    const slots = this.#opening.get(project) ?? new Slots(AT_A_TIME);
    this.#opening.set(project, slots);
    const { shared, forget } = await slots.hold(() => this.#open(session, hear, signal), signal);
    try {
      await raceSignal(shared.over, signal);
    } finally {
      forget();
      this.#leave(session.uid, shared);
    }
  }

  /** Ends the stream of a pod that is gone. */
  drop(uid: string): void {
    this.#end(uid, new DomainError("unavailable", "the session's pod is gone"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const reason = new DomainError("unavailable", "the controller is shutting down");
    this.#life.abort(reason);
    for (const uid of [...this.#shared.keys()]) this.#end(uid, reason);
    await Promise.all(this.#running);
  }

  async #pipe(
    session: EventsOf,
    request: SessionEventsRequest,
    caller: Actor,
    target: FrameTarget,
    signal: AbortSignal,
  ): Promise<void> {
    if (!session.isLive) return void (await this.#catchUp(session, request, caller, target, signal, undefined));
    const shared = this.#join(session);
    try {
      await shared.tail.begun(BEGIN_MS, signal);
      let at = placeOf(request);
      // A reader that has fallen behind reads from the sidecar before it rejoins the shared stream.
      for (let from: SessionEventsRequest | undefined = request; from !== undefined; at = undefined) {
        const reached: ReadUpTo | undefined =
          at !== undefined && shared.tail.holds(at)
            ? at
            : await this.#catchUp(session, from, caller, target, signal, shared.tail);
        const left: ReadUpTo | undefined = reached && (await shared.tail.pipe(reached, target, signal));
        from = left && { ...request, after: left.seq, epoch: left.epoch };
      }
    } finally {
      this.#leave(session.uid, shared);
    }
  }

  /** Reads from the sidecar until the shared stream has the next event; undefined: the sidecar's stream has ended. */
  async #catchUp(
    { key, terminal }: EventsOf,
    { after, epoch, subscriber }: SessionEventsRequest,
    caller: Actor,
    target: FrameTarget,
    signal: AbortSignal,
    tail: EventTail | undefined,
  ): Promise<ReadUpTo | undefined> {
    const position = { subscriberId: subscriber, epoch, afterSeq: after };
    const request = create(SidecarStreamEventsRequestSchema, position);
    const stop = tail === undefined ? signal : AbortSignal.any([signal, tail.ended]);
    for await (const payload of terminal().stream(SidecarService.method.streamEvents, request, caller, stop)) {
      const { event: at, payload: own } = ownEvent(payload, key);
      target.send(new EncodedFrame(SessionEventSchema, own));
      if (target.backlog >= UNREAD_BYTES) {
        await raceSignal(new Promise<void>((resolve) => target.onDrain(resolve)), stop);
      }
      if (!at.done && tail?.holds(at)) return { epoch: at.epoch, seq: at.seq };
    }
    return undefined;
  }

  async #open(session: EventsOf, hear: (event: SidecarEvent) => void, signal: AbortSignal) {
    const shared = this.#join(session);
    const forget = shared.tail.onEvent(hear);
    try {
      await shared.tail.begun(BEGIN_MS, signal);
      return { shared, forget };
    } catch (err) {
      forget();
      this.#leave(session.uid, shared);
      throw err;
    }
  }

  #join({ uid, key, terminal }: EventsOf): Shared {
    this.#life.signal.throwIfAborted();
    const known = this.#shared.get(uid);
    if (known !== undefined && !known.tail.isOver) {
      known.readers++;
      return known;
    }
    const tail = new EventTail({ clock: this.#clock, key, terminal });
    const shared = { tail, over: this.#own(tail.run()), readers: 1, leftAt: 0, isIdle: false };
    this.#shared.set(uid, shared);
    return shared;
  }

  #leave(uid: string, shared: Shared): void {
    shared.readers--;
    if (shared.readers > 0) return;
    shared.leftAt = this.#clock.monotonicMs();
    if (!shared.isIdle) void this.#own(this.#endWhenIdle(uid, shared));
  }

  async #endWhenIdle(uid: string, shared: Shared): Promise<void> {
    const { tail } = shared;
    const ended = AbortSignal.any([this.#life.signal, tail.ended]);
    shared.isIdle = true;
    for (let left = IDLE_MS; left > 0 && shared.readers === 0 && !tail.isOver; ) {
      await this.#clock.sleep(left, ended).catch(() => {});
      left = shared.leftAt + IDLE_MS - this.#clock.monotonicMs();
    }
    shared.isIdle = false;
    if (shared.readers > 0) return;
    tail.end(new DomainError("cancelled", "nobody reads"));
    if (this.#shared.get(uid) === shared) this.#shared.delete(uid);
  }

  #end(uid: string, reason: DomainError): void {
    this.#shared.get(uid)?.tail.end(reason);
    this.#shared.delete(uid);
  }

  #own(running: Promise<void>): Promise<void> {
    const owned: Promise<void> = running.finally(() => this.#running.delete(owned));
    this.#running.add(owned);
    return owned;
  }
}

/** Undefined: only the sidecar knows the position. */
function placeOf({ after, epoch }: SessionEventsRequest): ReadUpTo | undefined {
  return after === undefined || epoch === "" ? undefined : { epoch, seq: after };
}
