import type { MessageInitShape } from "@bufbuild/protobuf";
import type { BackoffOptions } from "../../internal/base/backoff.ts";
import type { Clock } from "../../internal/base/clock.ts";
import type {
  AckEventsRequestSchema,
  SessionEvent,
  StreamEventsRequestSchema,
} from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { Acks, type AcksDeps } from "./acks.ts";
import { bridgeErrorOf } from "./errors.ts";
import { afterFailure } from "./event-failures.ts";
import { EventPosition, type EventStart } from "./event-position.ts";

/** Where to start in a session's events. */
export interface EventsOptions {
  /**
   * A stable name of the reader. The bridge stores the reader's position under it, so that the next reader of this name
   * continues there. Without it nothing is acknowledged, and the next reader starts with the oldest event kept.
   */
  readonly subscriberId?: string;
  /** Start after this event instead of after the acknowledged position. */
  readonly afterSeq?: bigint | number;
  /** The epoch of `afterSeq`. */
  readonly epoch?: string;
  /** When aborted, the loop over the events throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** @internal */
export interface EventsDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly backoff: BackoffOptions;
  /** Opens a stream of events; leaving the loop over it cancels the stream. */
  readonly open: (
    request: MessageInitShape<typeof StreamEventsRequestSchema>,
    signal: AbortSignal | undefined,
  ) => AsyncGenerator<SessionEvent, void, undefined>;
  readonly ack: (request: MessageInitShape<typeof AckEventsRequestSchema>, signal: AbortSignal) => Promise<unknown>;
  /** Aborted when the client is closed. */
  readonly closed: AbortSignal;
}

/** A stream that lasted this long, ms, was a success: the next failure counts as the first. */
const GOOD_MS = 10_000;

/** @internal */
export interface FollowOptions {
  readonly signal?: AbortSignal | undefined;
  /** Acknowledge events that were handled. */
  readonly acknowledge: boolean;
}

/**
 * A session's events in order, each once, across broken connections; a BUFFER_OVERFLOW event with a `gap` stands for
 * missing events. An event counts as handled when the next one is requested; then it is acknowledged. Ends after the
 * last event (`done`).
 * @throws BridgeError if the bridge refuses for good, e.g. `not_found`; the signal's reason
 * @internal
 */
export async function* followEvents(
  deps: EventsDeps,
  start: EventStart,
  { signal, acknowledge }: FollowOptions,
): AsyncGenerator<SessionEvent, void, undefined> {
  const { sessionId, subscriberId } = start;
  const send: AcksDeps["send"] = ({ epoch, seq }, stop) =>
    deps.ack({ sessionId, subscriberId, epoch, ackSeq: seq }, stop);
  const acks = acknowledge ? new Acks({ clock: deps.clock, send }) : undefined;
  const stream = new ReconnectingEvents(deps, start, signal);
  // Not `await using`: its code compiled for Node 22 is larger than this file.
  try {
    for (let event = await stream.next(); event !== undefined; event = await stream.next()) {
      yield event;
      acks?.handled(event);
      if (event.done) return;
    }
  } finally {
    await stream.leave();
    await acks?.flush();
  }
}

class ReconnectingEvents {
  readonly #deps: EventsDeps;
  readonly #signal: AbortSignal | undefined;
  readonly #position: EventPosition;
  /** Events that have arrived and were not delivered yet. */
  #ready: SessionEvent[] = [];
  #stream: AsyncGenerator<SessionEvent, void, undefined> | undefined;
  #openedAt = 0;
  #failures = 0;

  constructor(deps: EventsDeps, start: EventStart, signal: AbortSignal | undefined) {
    this.#deps = deps;
    this.#signal = signal;
    this.#position = new EventPosition(start);
  }

  /** Undefined: the bridge ended the stream, and no events follow. */
  async next(): Promise<SessionEvent | undefined> {
    for (;;) {
      const ready = this.#ready.shift();
      if (ready !== undefined) return ready;
      this.#signal?.throwIfAborted();
      try {
        const { value, done } = await this.#open().next();
        if (done) return undefined;
        this.#failures = 0;
        this.#ready.push(...this.#position.take(value));
      } catch (err) {
        this.#stream = undefined;
        await this.#recover(err);
      }
    }
  }

  async leave(): Promise<void> {
    await this.#stream?.return();
  }

  #open(): AsyncGenerator<SessionEvent, void, undefined> {
    if (this.#stream === undefined) {
      this.#openedAt = this.#deps.clock.monotonicMs();
      this.#stream = this.#deps.open(this.#position.request(), this.#signal);
    }
    return this.#stream;
  }

  async #recover(err: unknown): Promise<void> {
    const { clock, backoff, random, closed } = this.#deps;
    if (this.#signal?.aborted) throw this.#signal.reason;
    const error = bridgeErrorOf(err);
    if (closed.aborted) throw error;
    if (clock.monotonicMs() - this.#openedAt >= GOOD_MS) this.#failures = 0;
    this.#failures++;
    const state = { failures: this.#failures, epoch: this.#position.epoch };
    const next = afterFailure(error, state, backoff, random);
    switch (next.type) {
      case "fail":
        throw error;
      case "begin-again":
        this.#ready.push(this.#position.beginAgain(next.epoch));
        return;
      case "reconnect":
        await this.#wait(next.waitMs);
    }
  }

  async #wait(ms: number): Promise<void> {
    const { clock, closed } = this.#deps;
    const either = this.#signal ? AbortSignal.any([this.#signal, closed]) : closed;
    await clock.sleep(ms, either).catch(() => this.#signal?.throwIfAborted());
  }
}
