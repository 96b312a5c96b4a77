import type { Clock } from "../../internal/base/clock.ts";

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** A clock that only moves on request. Sleepers wake in the order of their times, and their work runs in between. */
export class FakeClock implements Clock {
  readonly #sleepers = new Set<Sleeper>();
  #wallStart: number;
  #ms = 0;

  /** `wallStart`: the value of `now()` at the start. */
  constructor(wallStart = Date.UTC(2026, 0, 1)) {
    this.#wallStart = wallStart;
  }

  now(): number {
    return this.#wallStart + this.#ms;
  }

  monotonicMs(): number {
    return this.#ms;
  }

  /** Moves the wall clock forward or back; sleepers are not affected. */
  jump(ms: number): void {
    this.#wallStart += ms;
  }

  /** The number of sleepers: 0 once everything that was started has cleaned up after itself. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const leave = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener("abort", onAbort);
      };
      const onAbort = () => {
        leave();
        reject(signal?.reason);
      };
      const wake = () => {
        leave();
        resolve();
      };
      const sleeper = { at: this.#ms + Math.max(0, ms), wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Advances by `ms`: wakes all sleepers due until then, one by one, including those that fall asleep meanwhile. */
  async advance(ms: number): Promise<void> {
    const end = this.#ms + ms;
    await settle();
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#ms = Math.max(this.#ms, next.at);
      next.wake();
      await settle();
    }
    this.#ms = end;
  }

  /** Advances until `promise` settles, by at most `limitMs`, and settles like it. */
  async until<T>(promise: Promise<T>, limitMs = 3_600_000): Promise<T> {
    let settled = false;
    const watched = promise.finally(() => {
      settled = true;
    });
    watched.catch(() => {});
    const end = this.#ms + limitMs;
    for (await settle(); !settled; await settle()) {
      const next = this.#next(end);
      if (next === undefined) throw new Error(`nothing will happen within ${limitMs} ms of the fake clock`);
      await this.advance(next.at - this.#ms);
    }
    return watched;
  }

  #next(end: number): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers) if (first === undefined || sleeper.at < first.at) first = sleeper;
    return first !== undefined && first.at <= end ? first : undefined;
  }
}

/** Runs everything that needs no time: one turn of the event loop with all its promises. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
