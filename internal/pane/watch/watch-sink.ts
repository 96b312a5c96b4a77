import type { Member } from "./watch-group.ts";

/** The destination of one watcher's updates. */
export interface WatchSink<F> {
  /** Bytes that were sent and that the connection has not taken yet. */
  readonly backlog: number;
  send(frame: F): void;
  /** Calls `fn` once when the backlog is gone; never when the connection breaks. */
  onDrain(fn: () => void): void;
}

/** An update in the form that sinks take. */
export interface Made<F> {
  readonly frame: F;
  readonly isEnd: boolean;
}

/**
 * A watcher whose backlog reaches this size is sent nothing until the backlog is gone, which bounds the cost of a
 * stalled watcher. @internal
 */
export const WATCH_BACKLOG_BYTES = 256 * 1024;

/** Sends the results of `next` to one watcher, as far as its connection takes them. */
export class SinkMember<F> implements Member {
  readonly #sink: WatchSink<F>;
  readonly #next: () => Made<F> | undefined;
  readonly #end: () => void;
  /** True while the watcher waits for its connection, after it was sent the `end`, and after it has left. */
  #isShut = false;
  #hasLeft = false;

  constructor(sink: WatchSink<F>, next: () => Made<F> | undefined, end: () => void) {
    this.#sink = sink;
    this.#next = next;
    this.#end = end;
  }

  pump(): void {
    while (!this.#isShut) {
      if (this.#sink.backlog >= WATCH_BACKLOG_BYTES) {
        this.#wait();
        return;
      }
      const made = this.#next();
      if (made === undefined) return;
      this.#sink.send(made.frame);
      if (made.isEnd) {
        this.#isShut = true;
        this.#end();
      }
    }
  }

  leave(): void {
    this.#isShut = this.#hasLeft = true;
  }

  #wait(): void {
    this.#isShut = true;
    this.#sink.onDrain(() => {
      this.#isShut = this.#hasLeft;
      this.pump();
    });
  }
}
