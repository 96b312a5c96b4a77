import type { Clock } from "../../base/clock.ts";

/** Calls `onLong` when a link has had no work for `ms`. */
export class Resting {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #onLong: () => void;
  #sinceMs: number | undefined;
  #over = new AbortController();

  constructor(clock: Clock, ms: number, onLong: () => void) {
    this.#clock = clock;
    this.#ms = ms;
    this.#onLong = onLong;
  }

  /** Monotonic ms when the last work ended; undefined: the link has work. */
  get sinceMs(): number | undefined {
    return this.#sinceMs;
  }

  begin(): void {
    this.#over.abort();
    this.#over = new AbortController();
    this.#sinceMs = this.#clock.monotonicMs();
    this.#clock.sleep(this.#ms, this.#over.signal).then(this.#onLong, () => {});
  }

  end(): void {
    this.#over.abort();
    this.#sinceMs = undefined;
  }
}
