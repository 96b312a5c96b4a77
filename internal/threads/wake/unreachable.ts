import { backoffMs } from "../../base/backoff.ts";

const UNREACHABLE = { firstMs: 1000, maxMs: 30_000, factor: 1.5 };

/**
 * The delay until a runtime that does not answer is asked again, ms. It depends only on how long the runtime has been
 * away, so whichever process asks next continues the same back-off.
 */
export function unreachableMs(awayMs: number, random: () => number): number {
  const { firstMs, factor } = UNREACHABLE;
  const attempts = Math.log1p((Math.max(0, awayMs) * (factor - 1)) / firstMs) / Math.log(factor);
  return backoffMs(UNREACHABLE, Math.round(attempts), random);
}
