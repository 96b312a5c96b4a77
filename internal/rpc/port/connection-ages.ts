import type { Clock } from "../../base/clock.ts";

/** The ages of HTTP/1.1 connections: an old one is closed after its next response. */
export class ConnectionAges {
  readonly #clock: Clock;
  readonly #maxAgeMs: number | undefined;
  readonly #began = new WeakMap<object, number>();

  /** `maxAgeMs` undefined: connections have no maximum age. */
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
