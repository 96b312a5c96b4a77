/** More pairs than this are not compared: the lines in question then count as different. */
const MAX_PAIRS = 2_000_000;

interface Line {
  readonly text: string;
}

/**
 * Finds lines of `before` in `after`. `partOf`: for each line of `after` the index of the line that it is, or is a part
 * of, or -1. `isBroken`: the lines of `before` that are there as several lines in a row. Blanks at the end do not
 * count, and blank lines are not compared: a screen has so many of them that together they would outweigh the text
 * between them. Pure.
 */
export function findAgain(
  before: readonly Line[],
  after: readonly Line[],
): { readonly partOf: Int32Array; readonly isBroken: readonly number[] } {
  const old = withText(before);
  const fresh = withText(after);
  const matches = matchLines(
    old.map(({ text }) => text),
    fresh.map(({ text }) => text),
  );
  const partOf = new Int32Array(after.length).fill(-1);
  matches.forEach((match, k) => {
    partOf[fresh[k]?.index ?? -1] = old[match]?.index ?? -1;
  });
  const isBroken: number[] = [];
  let next = 0; // the line of `old` that is expected next
  for (const [k, { index }] of fresh.entries()) {
    const match = matches[k] ?? -1;
    if (match !== -1) next = match + 1;
    const whole = old[next];
    if (whole === undefined || partOf[index] !== -1) continue;
    const end = endOfParts(whole.text, after, index);
    if (end < 0 || partOf.subarray(index, end).some((other) => other !== -1)) continue;
    partOf.fill(whole.index, index, end);
    isBroken.push(whole.index);
    next++;
  }
  return { partOf, isBroken };
}

function withText(lines: readonly Line[]): readonly { readonly text: string; readonly index: number }[] {
  return lines.map(({ text }, index) => ({ text: text.trimEnd(), index })).filter(({ text }) => text !== "");
}

/** The index after the last of the lines, two or more from `from` on, that make up `whole`; -1 if they do not. */
function endOfParts(whole: string, lines: readonly Line[], from: number): number {
  let left = whole;
  for (let i = from; i < lines.length; i++) {
    const text = lines[i]?.text.trimEnd() ?? "";
    if (text === "" || !left.startsWith(text)) return -1;
    left = left.slice(text.length);
    if (left === "") return i > from ? i + 1 : -1;
    if (!(lines[i + 1]?.text ?? "").startsWith(" ")) left = left.trimStart(); // the row has lost the blanks at its end
  }
  return -1;
}

/**
 * Which lines of `after` are lines of `before`, in order, as `diff` finds them: for each its index in `before`, or -1.
 * Pure.
 */
export function matchLines<T>(before: readonly T[], after: readonly T[]): Int32Array {
  const found = new Int32Array(after.length).fill(-1);
  const most = Math.min(before.length, after.length);
  let tail = 0;
  while (tail < most && before.at(-1 - tail) === after.at(-1 - tail)) {
    found[after.length - 1 - tail] = before.length - 1 - tail;
    tail++;
  }
  let head = 0;
  while (head < most - tail && before[head] === after[head]) {
    found[head] = head;
    head++;
  }
  const rows = before.length - tail - head;
  const width = after.length - tail - head;
  if (rows === 0 || width === 0 || rows * width > MAX_PAIRS) return found;
  const lengths = lengthsOf(before.slice(head, head + rows), after.slice(head, head + width));
  const at = (i: number, j: number) => lengths[i * (width + 1) + j] ?? 0;
  for (let i = 0, j = 0; i < rows && j < width; ) {
    if (before[head + i] === after[head + j]) found[head + j++] = head + i++;
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return found;
}

/** The length of the longest common subsequence of what follows from each (i, j) on. */
function lengthsOf<T>(before: readonly T[], after: readonly T[]): Uint16Array {
  const width = after.length + 1;
  const lengths = new Uint16Array((before.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  return lengths;
}
