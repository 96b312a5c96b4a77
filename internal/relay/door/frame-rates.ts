import { BoundedMap } from "../../auth/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { TokenBucket } from "../../base/token-bucket.ts";
import type { LaneAgent } from "./upgrade-place.ts";

const BURST = 10_000;
const EVERY_MS = 1;
const MOST_AGENTS = 10_000;
/** An agent that could send this many frames at once has paused for a second. */
const PAUSED = 1000;
const TOO_FAST_MS = 60_000;

/** The close code for an agent that stays too fast, and its reason. */
export const RATE_LIMITED = [4429, "rate_limited"] as const;

/** Limits how fast each agent is read, over all its connections: a burst of 10,000 frames, and 1,000 a second. */
export class FrameRates {
  readonly #clock: Clock;
  readonly #rates = new BoundedMap<FrameRate>(MOST_AGENTS);

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  of({ lane, agentId }: LaneAgent): FrameRate {
    const name = JSON.stringify([lane.sessionId, lane.role, agentId]);
    const rate = this.#rates.get(name) ?? new FrameRate(this.#clock);
    this.#rates.set(name, rate);
    return rate;
  }
}

/** The rate of one agent. */
export class FrameRate {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  #fastSince: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#bucket = new TokenBucket(BURST, EVERY_MS, clock.monotonicMs());
  }

  /** Counts a received frame. */
  count(): void {
    const now = this.#clock.monotonicMs();
    const left = this.#bucket.fill(now);
    this.#bucket.take();
    if (left >= PAUSED) this.#fastSince = undefined;
    else if (left < 1) this.#fastSince ??= now;
  }

  /** The time until the next frame may be read, ms; 0: now. */
  get restMs(): number {
    return Math.max(0, -this.#bucket.fill(this.#clock.monotonicMs()) * EVERY_MS);
  }

  /** True if the agent has been too fast for a minute, without a second's pause. */
  get isTooFast(): boolean {
    return this.#fastSince !== undefined && this.#clock.monotonicMs() - this.#fastSince >= TOO_FAST_MS;
  }
}
