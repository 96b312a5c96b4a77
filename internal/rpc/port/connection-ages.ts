import type { Clock } from "../../base/clock.ts";

/** How long HTTP/1.1 connections have been there: one that is old ends with its next answer. */
export class ConnectionAges {
  readonly #clock: Clock;
  readonly #maxAgeMs: number | undefined;
  readonly #began = new WeakMap<object, number>();

  /** `maxAgeMs` undefined: no connection gets old. */
  constructor(clock: Clock, maxAgeMs: number | undefined) {
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
  }

  began(connection: object): void {
    if (this.#maxAgeMs !== undefined) this.#began.set(connection, this.#clock.monotonicMs());
  }

  isOld(connection: object): boolean {
    const since = this.#began.get(connection);
    return since !== undefined && this.#maxAgeMs !== undefined && this.#clock.monotonicMs() - since >= this.#maxAgeMs;
  }
}
