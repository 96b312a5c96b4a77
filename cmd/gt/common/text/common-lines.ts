/** The index pairs of lines that two texts have in common, in order: a longest common subsequence. */
export function commonLines(
  before: readonly string[],
  after: readonly string[],
): readonly (readonly [number, number])[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let same = 0;
  const most = Math.min(before.length, after.length) - start;
  while (same < most && before[before.length - 1 - same] === after[after.length - 1 - same]) same++;
  const head = Array.from({ length: start }, (_, i) => [i, i] as const);
  const tail = Array.from({ length: same }, (_, i) => [before.length - same + i, after.length - same + i] as const);
  const middle = longestCommon(before.slice(start, before.length - same), after.slice(start, after.length - same));
  return [...head, ...middle.map(([a, b]) => [a + start, b + start] as const), ...tail];
}

/** Quadratic in time and memory; callers bound the length (a terminal's last lines). */
function longestCommon(a: readonly string[], b: readonly string[]): readonly (readonly [number, number])[] {
  if (a.length === 0 || b.length === 0) return [];
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: (readonly [number, number])[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}
