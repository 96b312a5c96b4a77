/** A smaller difference is the time that an answer takes, and the whole seconds of a `date` header. */
const NOTABLE_MS = 2000;

/** What is known of a server's clock, by the `date` of its answers. */
export class ServerClock {
  readonly #now: () => number;
  #aheadMs = 0;

  /** `now`: this machine's wall clock, ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** By how much the server's clock is ahead of ours, ms; negative: behind. 0 while that is not known to matter. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** The server's wall clock, ms, as far as it is known. */
  now(): number {
    return this.#now() + this.#aheadMs;
  }

  /** Learns from an answer that has just come. True: the clock is another than was thought. */
  learn(headers: Headers): boolean {
    const told = Date.parse(headers.get("date") ?? "");
    if (Number.isNaN(told)) return false;
    const ahead = told - this.#now();
    const next = Math.abs(ahead) > NOTABLE_MS ? ahead : 0;
    if (Math.abs(next - this.#aheadMs) <= NOTABLE_MS) return false;
    this.#aheadMs = next;
    return true;
  }

  /** For an error about times; empty: the clocks agree. */
  get difference(): string {
    if (this.#aheadMs === 0) return "";
    const seconds = Math.round(Math.abs(this.#aheadMs) / 1000);
    return `this machine's clock is ${seconds} s ${this.#aheadMs > 0 ? "behind" : "ahead of"} the server's`;
  }
}
