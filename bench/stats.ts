/** The smallest sample that at least this share of the samples does not exceed; NaN without samples. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);
export const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

/**
 * Runs every arm once a round, in an order that changes from round to round (A B, B A, …), so that a machine that gets
 * slower affects all of them alike.
 */
export async function interleave(
  rounds: number,
  arms: readonly ((round: number) => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const arm of round % 2 === 0 ? arms : arms.toReversed()) {
      signal.throwIfAborted();
      await arm(round);
    }
  }
}

/** Pseudorandom numbers that are the same in each run (mulberry32): 0 ≤ n < 1. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
