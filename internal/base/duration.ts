import { DomainError } from "./errors.ts";

const MICROSECOND = 0.001;
const UNITS_MS: Readonly<Record<string, number>> = {
  ns: 0.000_001,
  us: MICROSECOND,
  "\u00b5s": MICROSECOND,
  "\u03bcs": MICROSECOND,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/gy;

/**
 * Milliseconds, rounded, of a duration as Go writes it: `300ms`, `1.5s`, `2h45m`, `0`.
 * @throws DomainError `invalid` for anything else, negative ones included.
 */
export function parseDurationMs(text: string): number {
  if (text === "0") return 0;
  let total = 0;
  let end = 0;
  for (const part of text.matchAll(PART)) {
    total += Number(part[1]) * (UNITS_MS[part[2] ?? ""] ?? Number.NaN);
    end = part.index + part[0].length;
  }
  if (end === 0 || end !== text.length) {
    throw new DomainError("invalid", `not a duration: ${JSON.stringify(text)} (write 300ms, 1.5s, 2h45m)`);
  }
  return Math.round(total);
}
