export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
  readonly factor: number;
}

/** Delay before attempt `attempt` (0-based): exponential with ±20 % of jitter, never over `maxMs`. */
export function backoffMs(options: BackoffOptions, attempt: number, random: () => number): number {
  const exact = Math.min(options.maxMs, options.firstMs * options.factor ** attempt);
  return Math.min(options.maxMs, Math.round(exact * (0.8 + 0.4 * random())));
}
