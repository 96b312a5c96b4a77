import { DomainError } from "../../base/errors.ts";

/**
 * Checks that all arguments of `must` are given, and beyond these no more than those of `may`. `call` is the command,
 * as in `gt cancel`.
 * @throws DomainError `invalid`
 */
export function takeArguments(
  call: string,
  given: readonly string[],
  must: readonly string[],
  may: readonly string[] = [],
): readonly string[] {
  const missing = must[given.length];
  if (missing !== undefined) throw usageError(call, `which ${missing}?`);
  const extra = given[must.length + may.length];
  if (extra !== undefined) throw usageError(call, `too many arguments: ${JSON.stringify(extra)}`);
  return given;
}

/** For a command that takes flags only. @throws DomainError `invalid` for the first argument */
export function noArguments(
  call: string,
  { positionals, rest = [] }: { readonly positionals: readonly string[]; readonly rest?: readonly string[] },
): void {
  const [stray] = [...positionals, ...rest];
  if (stray !== undefined) throw usageError(call, `unexpected argument ${JSON.stringify(stray)}`);
}

/** The error for a call that does not fit the command; its hint says where the usage is. */
export function usageError(call: string, message: string, hint = `${call} --help shows its usage`): DomainError {
  return new DomainError("invalid", message, { fields: { hint } });
}

/**
 * One of the known words; the first if `value` is undefined. `hint` says where the words are explained.
 * @throws DomainError `invalid`: `--mode takes queue or immediate, not "now"`
 */
export function knownWord<T extends string>(
  flag: string,
  value: string | undefined,
  known: readonly [T, ...T[]],
  hint?: string,
): T {
  if (value === undefined) return known[0];
  const found = known.find((one) => one === value);
  if (found !== undefined) return found;
  const text = `${flag} takes ${choiceOf(known)}, not ${JSON.stringify(value)}`;
  throw new DomainError("invalid", text, hint === undefined ? {} : { fields: { hint } });
}

/** `idle, done or dead` */
export function choiceOf(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** The object without its undefined values. */
export function present<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
