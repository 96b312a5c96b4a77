import { parseDurationMs } from "../../../internal/base/duration.ts";
import { DomainError } from "../../../internal/base/errors.ts";

const DAY_MS = 86_400_000;
const MOST_DAYS = 36_500;

/** `--days`: a whole number of days from 1 to a hundred years. @throws DomainError `invalid` */
export function readDays(days: number | undefined, usual: number): number {
  const value = days ?? usual;
  if (value >= 1 && value <= MOST_DAYS) return value;
  throw new DomainError("invalid", `--days is between 1 and ${MOST_DAYS}, not ${value}`);
}

/** `--within`: days (`30d`), or a shorter time as elsewhere (`12h`), in ms. @throws DomainError `invalid` */
export function readWithin(text: string): number {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  if (days !== undefined) return Number(days) * DAY_MS;
  try {
    return parseDurationMs(text);
  } catch {
    throw new DomainError("invalid", `--within takes a time such as 30d or 12h, not ${JSON.stringify(text)}`);
  }
}
