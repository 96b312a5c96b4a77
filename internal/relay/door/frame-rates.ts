import { BoundedMap } from "../../auth/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { TokenBucket } from "../../base/token-bucket.ts";
import type { AgentPlace } from "./upgrade-place.ts";

const BURST = 10_000;
const EVERY_MS = 1;
const MOST_AGENTS = 10_000;

/** Limits how fast each agent is read, over all its connections: a burst of 10,000 frames, and 1,000 a second. */
export class FrameRates {
  readonly #clock: Clock;
  readonly #buckets = new BoundedMap<TokenBucket>(MOST_AGENTS);

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  of({ lane, agentId }: AgentPlace): FrameRate {
    const name = JSON.stringify([lane.sessionId, lane.role, agentId]);
    const bucket = this.#buckets.get(name) ?? new TokenBucket(BURST, EVERY_MS, this.#clock.monotonicMs());
    this.#buckets.set(name, bucket);
    return new FrameRate(this.#clock, bucket);
  }
}

/** The rate of one agent. */
export class FrameRate {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;

  constructor(clock: Clock, bucket: TokenBucket) {
    this.#clock = clock;
    this.#bucket = bucket;
  }

  /** Counts a received frame. */
  count(): void {
    this.#bucket.take();
  }

  /** The time until the next frame may be read, ms; 0: now. */
  get restMs(): number {
    return Math.max(0, -this.#bucket.fill(this.#clock.monotonicMs()) * EVERY_MS);
  }
}
