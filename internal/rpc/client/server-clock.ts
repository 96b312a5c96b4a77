/** Smaller differences may come from the duration of a response and the whole seconds of a `date` header. */
const NOTABLE_MS = 2000;

/** A server's clock, estimated from the `date` headers of its responses. */
export class ServerClock {
  readonly #now: () => number;
  #aheadMs = 0;

  /** `now`: this machine's wall clock, ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** How far the server's clock is ahead of ours, ms; negative: behind. 0 if the difference is small or unknown. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** The estimated wall clock of the server, ms. */
  now(): number {
    return this.#now() + this.#aheadMs;
  }

  /** Updates the estimate from the headers of a response that has just arrived. Returns true if it has changed. */
  learn(headers: Headers): boolean {
    const told = Date.parse(headers.get("date") ?? "");
    if (Number.isNaN(told)) return false;
    const ahead = told - this.#now();
    const next = Math.abs(ahead) > NOTABLE_MS ? ahead : 0;
    if (Math.abs(next - this.#aheadMs) <= NOTABLE_MS) return false;
    this.#aheadMs = next;
    return true;
  }

  /** The difference as text for an error about times; empty if the clocks agree. */
  get difference(): string {
    if (this.#aheadMs === 0) return "";
    const seconds = Math.round(Math.abs(this.#aheadMs) / 1000);
    return `this machine's clock is ${seconds} s ${this.#aheadMs > 0 ? "behind" : "ahead of"} the server's`;
  }
}
