import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import { TokenBucket } from "../base/token-bucket.ts";
import { BoundedMap } from "./bounded-map.ts";

export interface RateLimit {
  /** The plural noun for what is limited, for the error, e.g. `inputs`. */
  readonly what: string;
  readonly perMinute: number;
  /** The most at once after a quiet period. Default: `perMinute`. */
  readonly burst?: number;
  /**
   * The most keys to remember; the least recently used one is dropped and starts with a full bucket. Default 10,000.
   */
  readonly maxKeys?: number;
}

/** Limits how often each key (a caller, or a caller and a session) may do something, with a token bucket per key. */
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
   * Takes a token from the bucket of this key.
   * @throws DomainError `exhausted` with `retry_after_ms` if the bucket is empty
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
