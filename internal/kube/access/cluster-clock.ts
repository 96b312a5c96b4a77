import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";

/** Clocks that differ by less count as equal. */
const TOLERANCE_MS = 5_000;
/** Resolution of an HTTP date: whole seconds. */
const DATE_MS = 1_000;

/**
 * The wall clock of the Kubernetes API server, derived from the `Date` headers of its responses. Times in the cluster's
 * objects are compared with this clock, so that a replica with a wrong clock judges them as the others do. Durations
 * are measured with the local clock.
 */
export class ClusterClock implements Clock {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #aheadMs = 0;

  constructor(deps: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** How far this machine's clock is ahead of the API server's, ms; 0 while they differ by less than 5 s. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  now(): number {
    return this.#clock.now() - this.#aheadMs;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal);
  }

  /**
   * Records that a response with this `Date` header has arrived, at most `ms` after its request. Ignores invalid dates.
   */
  answered(date: unknown, ms: number): void {
    const server = typeof date === "string" ? Date.parse(date) : Number.NaN;
    if (Number.isNaN(server)) return;
    const most = this.#clock.now() - server;
    const least = most - ms - DATE_MS;
    const held = this.#aheadMs;
    if (held !== 0 && held >= least && held <= most) return;
    const isEqual = least < TOLERANCE_MS && most > -TOLERANCE_MS;
    this.#aheadMs = isEqual ? 0 : Math.round((least + most) / 2);
    const seconds = Math.round(this.#aheadMs / 1_000);
    if (isEqual && held !== 0) this.#logger.info("this machine's clock agrees with the API server's again");
    else if (held === 0 && !isEqual) {
      this.#logger.error(
        { ahead_s: seconds },
        "this machine's clock disagrees with the API server's: correct this machine's clock",
      );
    }
  }
}
