export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
  readonly factor: number;
}

/** Delay before attempt `attempt` (0-based): exponential with ±20 % of jitter, never over `maxMs`. */
export function backoffMs(options: BackoffOptions, attempt: number, random: () => number): number {
  const jitter = 0.8 + 0.4 * random();
  return Math.min(options.maxMs, Math.round(backoffStepMs(options, attempt) * jitter));
}

/** The same without jitter: for one process alone, and for callers that spread their waits themselves. */
export function backoffStepMs({ firstMs, maxMs, factor }: BackoffOptions, attempt: number): number {
  return Math.min(maxMs, firstMs * factor ** attempt);
}
