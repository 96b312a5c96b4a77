import { setImmediate } from "node:timers/promises";
import type { FrameTarget, StreamFrame } from "../../rpc/server/frames.ts";
import { UNREAD_BYTES } from "../unread-stream.ts";

/** A subscriber's position in a session's events. */
export interface FrameCursor {
  /** The next frame; undefined: there is none yet. @throws DomainError if the reader cannot continue */
  next(): StreamFrame | undefined;
}

/** The part of a log that a fan-out uses; see `EventSource` in eventlog. */
interface Growing {
  readonly closed: boolean;
  grown(): Promise<void>;
}

interface Member {
  readonly cursor: FrameCursor;
  readonly target: FrameTarget;
  readonly end: () => void;
  readonly fail: (err: unknown) => void;
  /** The connection has a backlog; skip the member until it has drained. */
  isStalled: boolean;
}

/** The most frames that one member gets per turn. */
const TURN = 32;
/** After this long, yield to other work of the process. */
const SLICE_MS = 10;

/**
 * Serves all subscribers of one session in one loop, so that an event costs one write per subscriber. A subscriber that
 * does not read is skipped until its connection has drained.
 */
export class EventFanout {
  readonly #log: Growing;
  readonly #members = new Set<Member>();
  #woken = Promise.withResolvers<void>();
  #awaited: Promise<void> | undefined;
  #isRunning = false;

  constructor(log: Growing) {
    this.#log = log;
  }

  /** Resolves after the last event; rejects with an error of `next`, or with the signal's reason. */
  async pipe(cursor: FrameCursor, target: FrameTarget, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve: end, reject: fail } = Promise.withResolvers<void>();
    const member = { cursor, target, end, fail, isStalled: false };
    const onAbort = () => fail(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#members.add(member);
    if (this.#isRunning) this.#wake();
    else void this.#run();
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#members.delete(member);
      this.#wake();
    }
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#members.size > 0) {
      this.#woken = Promise.withResolvers();
      this.#awaitGrowth();
      if (!(await this.#round())) await this.#woken.promise;
    }
    this.#isRunning = false;
  }

  /** Called before the log is read, so that an event that arrives meanwhile wakes the loop. */
  #awaitGrowth(): void {
    const grown = this.#log.closed ? undefined : this.#log.grown();
    if (grown !== this.#awaited) void grown?.then(() => this.#wake());
    this.#awaited = grown;
  }

  #wake(): void {
    this.#woken.resolve();
  }

  /** Gives each member a turn. Returns true if some may already have more. */
  async #round(): Promise<boolean> {
    let isMore = false;
    let until = performance.now() + SLICE_MS;
    for (const member of this.#members) {
      isMore = this.#serve(member) || isMore;
      if (performance.now() < until) continue;
      await setImmediate();
      until = performance.now() + SLICE_MS;
    }
    return isMore;
  }

  #serve(member: Member): boolean {
    const { cursor, target } = member;
    try {
      for (let sent = 0; sent < TURN && !member.isStalled; sent++) {
        if (target.backlog >= UNREAD_BYTES) {
          this.#stall(member);
          return false;
        }
        const frame = cursor.next();
        if (frame === undefined) {
          if (this.#log.closed) member.end();
          return false;
        }
        target.send(frame);
      }
      return !member.isStalled;
    } catch (err) {
      member.fail(err);
      return false;
    }
  }

  #stall(member: Member): void {
    member.isStalled = true;
    member.target.onDrain(() => {
      member.isStalled = false;
      this.#wake();
    });
  }
}
