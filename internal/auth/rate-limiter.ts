import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import { TokenBucket } from "../base/token-bucket.ts";
import { BoundedMap } from "./bounded-map.ts";

export interface RateLimit {
  /** For the message: what is limited, e.g. `inputs`. */
  readonly what: string;
  readonly perMinute: number;
  /** So many at once after a quiet time. Default: a minute's. */
  readonly burst?: number;
  /** Keys that are remembered; more, and the one used longest ago begins with a full bucket. Default 10,000. */
  readonly maxKeys?: number;
}

/** How often each key (a caller, or a caller and a session) may do something: a token bucket for each. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #limit: RateLimit;
  readonly #buckets: BoundedMap<TokenBucket>;

  constructor(deps: { readonly clock: Clock }, limit: RateLimit) {
    this.#clock = deps.clock;
    this.#limit = limit;
    this.#buckets = new BoundedMap(limit.maxKeys ?? 10_000);
  }

  /**
   * @throws DomainError `exhausted` with `retry_after_ms` when the bucket of this key is empty; nothing is taken then
   */
  take(...key: readonly string[]): void {
    const { what, perMinute, burst = perMinute } = this.#limit;
    const name = JSON.stringify(key);
    const now = this.#clock.monotonicMs();
    const bucket = this.#buckets.get(name) ?? new TokenBucket(burst, 60_000 / perMinute, now);
    this.#buckets.set(name, bucket);
    const left = bucket.fill(now);
    if (left < 1) throw tooOften(what, perMinute, Math.ceil(((1 - left) * 60_000) / perMinute));
    bucket.take();
  }
}

function tooOften(what: string, perMinute: number, retryAfterMs: number): DomainError {
  const message = `too many ${what}: the limit is ${perMinute} a minute; try again in ${Math.ceil(retryAfterMs / 1000)} s`;
  return new DomainError("exhausted", message, { fields: { limit: perMinute, retry_after_ms: retryAfterMs } });
}
