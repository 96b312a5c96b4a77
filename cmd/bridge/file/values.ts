import { isAbsolute } from "node:path";
import { z } from "zod";
import { parseDurationMs } from "../../../internal/base/duration.ts";
import { Redactor } from "../../../internal/base/redact.ts";
import { parseListenAddress } from "../../../internal/rpc/port/parse-address.ts";
import { isCollectorUrl } from "../../../internal/tracing/collector-url.ts";

/** What is said of a value of the wrong type. */
function wanted(what: string) {
  return {
    error: ({ input }: { readonly input?: unknown }) => (input === undefined ? "is required" : `must be ${what}`),
  };
}

export const KEY_SEPARATOR = " ";

/**
 * A block of keys: each that is not named here is a fault, whose message lists the known ones. Nothing behind the colon
 * counts as an empty block.
 */
export function block<S extends z.ZodRawShape>(shape: S) {
  const known = Object.keys(shape).join(KEY_SEPARATOR);
  const error = ({ code }: { readonly code?: string }) =>
    code === "unrecognized_keys" ? known : "must be a block of keys";
  return z.preprocess((value) => value ?? {}, z.strictObject(shape, { error }));
}

export function listOf<V extends z.ZodType>(value: V, what: string) {
  return z.array(value, wanted(what));
}

export function text(what = "a non-empty string") {
  const isGood = (value: string) => value !== "" && !/\p{Cc}/u.test(value);
  return z.string(wanted(what)).refine(isGood, { error: `must be ${what}` });
}

export function filePath() {
  return text("the path of a file");
}

export function wholeNumber(least: number, most: number) {
  const what = `a whole number from ${least} to ${most}`;
  const isGood = (value: number) => Number.isInteger(value) && value >= least && value <= most;
  return z.number(wanted(what)).refine(isGood, { error: `must be ${what}` });
}

/** Milliseconds of a duration as Go writes it, within `least` and `most` (written the same way). */
export function duration(least: string, most: string) {
  const what = `a duration such as 30s, 5m or 1h30m, from ${least} to ${most}`;
  const [low, high] = [parseDurationMs(least), parseDurationMs(most)];
  return z
    .preprocess((value) => (value === 0 ? "0" : value), z.string(wanted(what)))
    .transform((value, context) => {
      const ms = durationOf(value);
      if (ms !== undefined && ms >= low && ms <= high) return ms;
      context.addIssue({ code: "custom", message: `must be ${what}` });
      return z.NEVER;
    });
}

function durationOf(value: string): number | undefined {
  try {
    return parseDurationMs(value);
  } catch {
    return undefined;
  }
}

/** `HOST:PORT`; as in Go, `:PORT` means every address of the host. */
export function address() {
  const what = "HOST:PORT, for example 127.0.0.1:9445";
  return z.string(wanted(what)).transform((value, context) => {
    const found = parseListenAddress(value);
    if (found !== undefined) return found;
    context.addIssue({ code: "custom", message: `must be ${what}` });
    return z.NEVER;
  });
}

/** An absolute path in which a segment may be `*`. */
export function pathPattern() {
  const what = "an absolute path; * matches one component";
  const isGood = (value: string) =>
    isAbsolute(value) && value.split("/").every((part) => part !== ".." && part !== "." && !part.includes("**"));
  return text(what).refine(isGood, { error: `must be ${what}` });
}

export function secretPattern() {
  return text("a pattern in RE2 syntax").superRefine((value, context) => {
    try {
      new Redactor([value]).check();
    } catch (err) {
      context.addIssue({ code: "custom", message: err instanceof Error ? err.message : String(err) });
    }
  });
}

export function httpUrl() {
  const what = "a URL that begins with http:// and has a path";
  const isGood = (value: string) =>
    /^http:\/\/[\x21-\x7e]+$/.test(value) && URL.canParse(value) && new URL(value).pathname !== "/";
  return text(what).refine(isGood, { error: `must be ${what}` });
}

/** The base URL of a collector of spans. */
export function collectorUrl() {
  const what = "a URL that begins with http:// or https://";
  return text(what).refine(isCollectorUrl, { error: `must be ${what}` });
}

export function oneOf<T extends string>(...words: readonly [T, ...T[]]) {
  return z.enum(words, wanted(`one of ${words.join(", ")}`));
}
