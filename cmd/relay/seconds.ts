import { parseDurationMs } from "../../internal/base/duration.ts";
import { DomainError } from "../../internal/base/errors.ts";

/**
 * Parses a number of seconds (`30`) or a duration (`30s`) into milliseconds.
 * @throws DomainError `invalid`, naming `source`
 */
export function secondsMs(source: string, text: string): number {
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : durationMs(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new DomainError("invalid", `${source} needs seconds or a duration such as 30s, not ${JSON.stringify(text)}`);
}

function durationMs(text: string): number | undefined {
  try {
    return parseDurationMs(text);
  } catch {
    return undefined;
  }
}
