import { isAbsolute, join } from "node:path";
import { z } from "zod";
import { parseDurationMs } from "../base/duration.ts";
import { Redactor } from "../base/redact.ts";
import { parseListenAddress } from "../rpc/port/parse-address.ts";

/** The error for a value that is missing or has the wrong type. */
function wanted(what: string) {
  return {
    error: ({ input }: { readonly input?: unknown }) => (input === undefined ? "is required" : `must be ${what}`),
  };
}

/** A text that `read` converts. If `read` returns undefined, the text is not `what`, which is a fault. */
function textAs<T>(what: string, read: (value: string) => T | undefined) {
  return z.string(wanted(what)).transform((value, context) => {
    const found = read(value);
    if (found !== undefined) return found;
    context.addIssue({ code: "custom", message: `must be ${what}` });
    return z.NEVER;
  });
}

export function listOf<V extends z.ZodType>(value: V, what: string) {
  return z.array(value, wanted(what));
}

/** One line without control characters. `isGood` adds a condition. */
export function text(what = "a non-empty string", isGood: (value: string) => boolean = () => true) {
  const isText = (value: string) => value !== "" && !/\p{Cc}/u.test(value) && isGood(value);
  return z.string(wanted(what)).refine(isText, { error: `must be ${what}` });
}

/** A path, made absolute: a relative one is relative to `folder`. */
export function filePath(folder: string) {
  return text("the path of a file").transform((path) => (isAbsolute(path) ? path : join(folder, path)));
}

export function wholeNumber(least: number, most: number) {
  const what = `a whole number from ${least} to ${most}`;
  const isGood = (value: number) => Number.isInteger(value) && value >= least && value <= most;
  return z.number(wanted(what)).refine(isGood, { error: `must be ${what}` });
}

const UNITS: Readonly<Record<string, number>> = { "": 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** A number of bytes: `65536`, or a text such as `64KiB`, `16MiB`, `1GiB`. */
export function byteCount(least: number, most: number) {
  const what = `a whole number of bytes, or a size such as 64KiB, from ${least} to ${most}`;
  return z.preprocess(
    (value) => (typeof value === "number" ? String(value) : value),
    textAs(what, (value) => {
      const [, number, unit] = /^(\d{1,15})(|KiB|MiB|GiB)$/.exec(value) ?? [];
      const bytes = Number(number) * (UNITS[unit ?? ""] ?? Number.NaN);
      return bytes >= least && bytes <= most ? bytes : undefined;
    }),
  );
}

/** Milliseconds of a duration as Go writes it, within `least` and `most` (written the same way). */
export function duration(least: string, most: string) {
  const what = `a duration such as 30s, 5m or 1h30m, from ${least} to ${most}`;
  const [low, high] = [parseDurationMs(least), parseDurationMs(most)];
  return z.preprocess(
    (value) => (value === 0 ? "0" : value),
    textAs(what, (value) => {
      const ms = durationOf(value);
      return ms !== undefined && ms >= low && ms <= high ? ms : undefined;
    }),
  );
}

function durationOf(value: string): number | undefined {
  try {
    return parseDurationMs(value);
  } catch {
    return undefined;
  }
}

/** `HOST:PORT`; as in Go, `:PORT` means every address of the host. Port 0: any free one. */
export function address() {
  return textAs("HOST:PORT, for example 127.0.0.1:9445", parseListenAddress);
}

/** An absolute path in which a segment may be `*`. */
export function wildcardPath() {
  return text(
    "an absolute path; * matches one component",
    (value) =>
      isAbsolute(value) && value.split("/").every((part) => part !== ".." && part !== "." && !part.includes("**")),
  );
}

/** A pattern of secrets, which are removed from logs and errors. */
export function secretPattern() {
  return text("a pattern in RE2 syntax").superRefine((value, context) => {
    try {
      new Redactor([value]).check();
    } catch (err) {
      context.addIssue({ code: "custom", message: err instanceof Error ? err.message : String(err) });
    }
  });
}

/** The URL, with a path, of a plain HTTP server. */
export function httpUrl() {
  return text(
    "a URL that begins with http:// and has a path",
    (value) => /^http:\/\/[\x21-\x7e]+$/.test(value) && URL.canParse(value) && new URL(value).pathname !== "/",
  );
}

/** The base URL of a collector of spans, or of another server. */
export function baseUrl() {
  return text(
    "a URL that begins with http:// or https://",
    (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
  );
}

export function oneOf<T extends string>(...words: readonly [T, ...T[]]) {
  return z.enum(words, wanted(`one of ${words.join(", ")}`));
}
