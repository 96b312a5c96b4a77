import { backoffMs } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";

const AWAY = { firstMs: 250, maxMs: 5000, factor: 2 };
const FULL_MS = 1000;
const LONGEST_MS = 60_000;

/**
 * Repeats a call, which must be idempotent, while the bridge is away or full.
 * @throws the error of a call that would fail again; the signal's reason
 */
export async function untilAnswered<T>(clock: Clock, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (let failures = 0; ; failures++) {
    signal.throwIfAborted();
    try {
      return await call();
    } catch (err) {
      const waitMs = signal.aborted ? undefined : waitAfter(err, failures);
      if (waitMs === undefined) throw err;
      await clock.sleep(waitMs, signal);
    }
  }
}

/** The delay before the next attempt, ms. Undefined: the same call would fail again. */
function waitAfter(err: unknown, failures: number): number | undefined {
  if (!(err instanceof DomainError)) return undefined;
  if (err.kind === "unavailable" || err.kind === "deadline") return backoffMs(AWAY, failures, Math.random);
  if (err.kind !== "exhausted") return undefined;
  const said = Number(err.fields["retry_after_ms"]);
  return said > 0 ? Math.min(said, LONGEST_MS) : FULL_MS;
}
