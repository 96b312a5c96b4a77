import { DomainError } from "../../../../internal/base/errors.ts";
import { ID } from "../../../../internal/session/ids.ts";

const MAX_LINES = 100_000;

/** The positional arguments, when there are as many as there must and may be. @throws DomainError `invalid` */
export function takeArguments(
  command: string,
  given: readonly string[],
  must: readonly string[],
  may: readonly string[] = [],
): readonly string[] {
  const missing = must[given.length];
  if (missing !== undefined) throw usageError(command, `which ${missing}?`);
  const extra = given[must.length + may.length];
  if (extra !== undefined) throw usageError(command, `too many arguments: ${JSON.stringify(extra)}`);
  return given;
}

/** A call that the command does not take, with where to read how it is called. */
export function usageError(
  command: string,
  message: string,
  hint = `gt ${command} --help shows its usage`,
): DomainError {
  return new DomainError("invalid", message, { fields: { hint } });
}

/** A number of lines as a flag (number) or an argument (text) gives it. @throws DomainError `invalid` */
export function readLines(value: string | number): number {
  const lines = typeof value === "number" ? value : /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (!(lines >= 1 && lines <= MAX_LINES)) {
    throw new DomainError("invalid", `not a number of lines: ${JSON.stringify(value)} (1 to ${MAX_LINES})`);
  }
  return lines;
}

/** One of the known words; the first when nothing was given. @throws DomainError `invalid` */
export function oneOf<T extends string>(flag: string, value: string | undefined, known: readonly [T, ...T[]]): T {
  if (value === undefined) return known[0];
  const found = known.find((one) => one === value);
  if (found === undefined)
    throw new DomainError("invalid", `${flag} is ${known.join(", ")}; not ${JSON.stringify(value)}`);
  return found;
}

/** A request id; empty when none was given. @throws DomainError `invalid` */
export function readRequestId(command: string, id: string | undefined, what = "--request-id"): string {
  if (id === undefined) return "";
  if (!ID.test(id)) throw usageError(command, `${what} has 1 to 128 letters, digits, dots, dashes or underscores`);
  return id;
}

/** The object without its undefined values. */
export function present<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
