import { create } from "@bufbuild/protobuf";
import { within } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { EventFanout } from "../../bridge/events/event-fanout.ts";
import { MirrorLog } from "../../bridge/events/mirror-log.ts";
import { eventFrame } from "../../bridge/events/session-log.ts";
import type { SessionTerminal } from "../../bridge/session-backend.ts";
import {
  type SidecarEvent,
  SidecarService,
  SidecarStreamEventsRequestSchema,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import type { FrameTarget, StreamFrame } from "../../rpc/server/frames.ts";
import { type EventOwner, ownEvent } from "./own-event.ts";
import { eventPosition, OPERATOR } from "./sidecar-position.ts";

/** The position of a reader that has all events up to this one. */
export interface ReadUpTo {
  readonly epoch: string;
  readonly seq: bigint;
}

export interface EventTailDeps {
  readonly clock: Clock;
  readonly key: EventOwner;
  /** The current connection to the sidecar. @throws DomainError `unavailable` */
  readonly terminal: () => SessionTerminal;
}

/** Events kept for readers that lag a little; readers further behind read from the sidecar. */
const KEPT = { eventBuffer: 1000, eventBytes: 1024 * 1024 };
/** Memory of an event in addition to its bytes, roughly. */
const EVENT_BYTES = 200;
const RETRY_MS = 250;
/** A serving half that was killed is back within a second; after this long, readers get an error. */
const AWAY_MS = 15_000;

/** The reader's next event is no longer kept here. */
class Behind extends Error {}

/**
 * The newest events of one sidecar, read on one stream for all readers that lag little or not at all. Continues after a
 * broken stream.
 */
export class EventTail {
  readonly #deps: EventTailDeps;
  readonly #log = new MirrorLog<StreamFrame>(KEPT);
  readonly #fanout = new EventFanout(this.#log);
  readonly #listeners = new Set<(event: SidecarEvent) => void>();
  readonly #life = new AbortController();
  /** The next event does not follow the last one kept. */
  #hasHole = false;
  /** The first number from which no event is missing. */
  #whole = 0n;
  #isLost = true;

  constructor(deps: EventTailDeps) {
    this.#deps = deps;
  }

  /** Aborted by `end`, with its reason. */
  get ended(): AbortSignal {
    return this.#life.signal;
  }

  get isOver(): boolean {
    return this.#log.closed || this.#life.signal.aborted;
  }

  /** All events after this position are available here. */
  holds({ epoch, seq }: ReadUpTo): boolean {
    const { epoch: own, oldest, head } = this.#log;
    return !this.isOver && epoch === own && seq >= oldest - 1n && seq >= this.#whole - 1n && seq <= head;
  }

  /** Calls `fn` with each new event, until the returned function is called. */
  onEvent(fn: (event: SidecarEvent) => void): () => void {
    this.#listeners.add(fn);
    return () => this.#listeners.delete(fn);
  }

  /** Resolves when the position of the events is known, or after `ms`. */
  async begun(ms: number, signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.#life.signal]);
    if (this.#isLost) await within(this.#deps.clock, ms, this.#log.grown(), either);
  }

  /**
   * Sends the events after `from`. Resolves with undefined after the session's last event, or with the position from
   * which the reader must continue at the sidecar. Rejects with the signal's reason, with the reason given to `end`, or
   * as `LogCursor.next`.
   */
  async pipe(from: ReadUpTo, target: FrameTarget, signal: AbortSignal): Promise<ReadUpTo | undefined> {
    const cursor = this.#log.cursorAfter(from.seq, from.epoch);
    let { seq } = from;
    const next = () => {
      const followed = cursor.next();
      if (followed?.type === "missing") throw new Behind();
      if (followed !== undefined) seq = followed.seq;
      return followed?.event;
    };
    try {
      await this.#fanout.pipe({ next }, target, AbortSignal.any([signal, this.#life.signal]));
      return undefined;
    } catch (err) {
      if (err instanceof Behind) return { epoch: from.epoch, seq };
      throw err;
    }
  }

  /** Reads until the session's last event or `end`; ends by itself if the sidecar is away for too long. */
  async run(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#life;
    let awaySince: number | undefined;
    while (!this.isOver) {
      try {
        await this.#read(() => {
          awaySince = undefined;
        });
      } catch (err) {
        if (!(err instanceof DomainError)) return this.end(err);
        if (err.kind === "precondition") this.#isLost = true;
      }
      const now = clock.monotonicMs();
      awaySince ??= now;
      if (now - awaySince >= AWAY_MS) this.end(new DomainError("unavailable", "the session's sidecar does not answer"));
      if (!this.isOver) await clock.sleep(RETRY_MS, signal).catch(() => {});
    }
  }

  /** Stops delivering; readers fail with `reason`. */
  end(reason: unknown): void {
    this.#life.abort(reason);
  }

  async #read(onAnswer: () => void): Promise<void> {
    const { signal } = this.#life;
    const terminal = this.#deps.terminal();
    if (this.#isLost) {
      const { epoch, head } = await eventPosition(terminal, signal);
      this.#log.begin(epoch, head);
      this.#whole = head + 1n;
      this.#isLost = false;
    }
    const request = create(SidecarStreamEventsRequestSchema, { afterSeq: this.#log.head, epoch: this.#log.epoch });
    for await (const payload of terminal.stream(SidecarService.method.streamEvents, request, OPERATOR, signal)) {
      onAnswer();
      this.#take(payload);
      if (this.isOver) return;
    }
  }

  #take(bytes: Uint8Array): void {
    const { event, payload } = ownEvent(bytes, this.#deps.key);
    const { seq, gap, done } = event;
    if (gap !== undefined && gap.first !== seq) {
      this.#hasHole = true; // a reader that continues here asks the sidecar, which reports the gap
      return;
    }
    if (seq <= this.#log.head) return; // a repetition
    // Numbers that a sidecar skips without reporting a gap are missing, too.
    const follows = !this.#hasHole && seq === this.#log.head + 1n;
    if (!follows) this.#whole = seq;
    this.#log.append(seq, eventFrame(payload), EVENT_BYTES + payload.length, follows ? undefined : "evicted");
    this.#hasHole = false;
    for (const fn of this.#listeners) fn(event);
    if (done) this.#log.close();
  }
}
