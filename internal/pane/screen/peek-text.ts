import { DomainError } from "../../base/errors.ts";

export interface TextRow {
  readonly text: string;
  /** True if the row continues the row above without a line break. */
  readonly wrapped: boolean;
}

const PEEK_DEFAULT_LINES = 50;
const PEEK_MAX_LINES = 100_000;

/**
 * The largest answer to a peek, in bytes. Older lines are left out first.
 * @internal
 */
export const PEEK_MAX_BYTES = 3 * 1024 * 1024;

export interface LastLines {
  readonly output: string;
  /** Older lines were left out to stay within `PEEK_MAX_BYTES`. */
  readonly truncated: boolean;
}

/** @throws DomainError `invalid` for more than 100,000 lines. */
export function linesWanted(lines: number): number {
  if (lines > PEEK_MAX_LINES) {
    throw new DomainError("invalid", `cannot peek ${lines} lines: at most ${PEEK_MAX_LINES}`);
  }
  return lines <= 0 ? PEEK_DEFAULT_LINES : lines;
}

/**
 * Joins rows where the terminal wrapped them. The first row begins a line even if it continues a row that is not in
 * `rows`.
 */
export function joinRows(rows: readonly TextRow[]): string[] {
  const lines: string[] = [];
  for (const row of rows) {
    const last = lines.at(-1);
    if (row.wrapped && last !== undefined) lines[lines.length - 1] = last + row.text;
    else lines.push(row.text);
  }
  return lines.map((line) => line.trimEnd());
}

/**
 * The last `count` lines (Infinity: all), up to `PEEK_MAX_BYTES`; blank lines below the last one with text do not
 * count. `isBlank` decides what counts as blank: for styled lines it must ignore the styles.
 */
export function lastLines(
  lines: readonly string[],
  count: number,
  isBlank: (line: string) => boolean = (line) => line.trim() === "",
): LastLines {
  let end = lines.length;
  while (end > 0 && isBlank(lines[end - 1] ?? "")) end--;
  const wanted = lines.slice(Math.max(0, end - count), end);
  let bytes = 0;
  let first = wanted.length;
  while (first > 0) {
    bytes += Buffer.byteLength(wanted[first - 1] ?? "") + 1;
    if (bytes > PEEK_MAX_BYTES) break;
    first--;
  }
  // A single line that is larger than an answer: its end has priority.
  if (first === wanted.length && first > 0) return { output: endOf(wanted[first - 1] ?? ""), truncated: true };
  return { output: wanted.slice(first).join("\n"), truncated: first > 0 };
}

function endOf(line: string): string {
  const bytes = Buffer.from(line);
  let from = bytes.length - PEEK_MAX_BYTES;
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from++;
  return bytes.toString("utf8", from);
}
