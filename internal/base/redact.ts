import { RE2JS } from "re2js";
import { DomainError } from "./errors.ts";

/** Replaces each secret. */
const REDACTED = "[redacted]";
/** The limits of patterns, because each pattern costs a pass over every text. */
const MAX_PATTERNS = 32;
const MAX_PATTERN_CHARS = 1000;

/** A value in quotes, or up to the next blank. */
const VALUE = `(?:\\\\?"[^"\\n]*"|'[^'\\n]*'|[^\\s"']\\S*)`;
/** A quota says `count/secrets=1`: there, a number is not a secret. */
const SECRETS_NOT_COUNTED = `secrets\\\\?["']?\\s*[:=]\\s*(?:\\\\?"[^"\\n]*"|'[^'\\n]*'|[0-9]*[^\\s"'0-9,]\\S*)`;
const NAMES = "(api[_-]?key|access[_-]?key|private[_-]?key|token|password|passwd|passphrase)[\\w-]*";
const SECRET = "secret(s[\\w-]+|[a-rt-z0-9_-][\\w-]*)?";
const NAME = "(api[_-]?key|access[_-]?key|private[_-]?key|token|secret|password|passwd|passphrase)";

/**
 * The patterns used unless others are given: `name = value` and `"name": "value"` with the name of a secret, options
 * such as `--password x`, `Authorization` and `Bearer` credentials, the password in a URL, AWS and other well-known
 * keys.
 */
export const DEFAULT_REDACT_PATTERNS: readonly string[] = [
  `(?i)(${NAMES}|${SECRET})\\\\?["']?\\s*[:=]\\s*${VALUE}`,
  `(?i)${SECRETS_NOT_COUNTED}`,
  `(?i)--[\\w-]*${NAME}\\s+${VALUE}`,
  "(?i)\\bauthorization\\s*[:=]\\s*(basic|bearer|token)\\s+\\S+",
  "(?i)\\bbearer\\s+([A-Za-z0-9._~+/=-]{8,}|[A-Za-z._~+/=-]*[0-9][A-Za-z0-9._~+/=-]*)",
  "(?i)\\b[a-z][a-z0-9+.-]*://[^\\s/@:]*:[^\\s/@]+@",
  "\\b(AKIA|ASIA)[A-Z0-9]{16}\\b",
  "\\b(ghp|gho|ghs|ghu|github_pat|xox[abp]|sk-ant|sk-proj|glpat)[-_][A-Za-z0-9_-]{16,}",
];

/**
 * Matches every text in which a default pattern can match. RE2JS takes tens of milliseconds to compile the patterns,
 * and most processes never print such a text.
 */
const SUSPECT = new RegExp(
  [
    ...["(api|access|private)[_-]?key", "token", "secret", "passw", "passphrase", "authorization", "bearer"],
    ...["://[^\\t\\n\\f\\r /@]+@", "AKIA", "ASIA", "gh[posu][-_]", "github_pat", "xox[abp]", "sk-(ant|proj)", "glpat"],
  ].join("|"),
  "iu",
);

/** A stretch of a text, `end` exclusive. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds secrets by patterns in RE2's syntax (`(?i)` included; `^` and `$` are ends of lines), in time linear in the
 * text whatever the pattern.
 */
export class Redactor {
  readonly #sources: readonly string[];
  readonly #defaults: readonly string[];
  #compiledDefaults: readonly RE2JS[] | undefined;
  #compiledOthers: readonly RE2JS[] | undefined;

  constructor(patterns: readonly string[]) {
    this.#sources = patterns;
    this.#defaults = patterns.filter(isDefault);
  }

  /**
   * Compiles all patterns but the default ones, which are compiled for the first text that may match.
   * @throws DomainError `invalid`, naming the faulty pattern or limit.
   */
  check(): this {
    this.#others();
    return this;
  }

  #others(): readonly RE2JS[] {
    const { length } = this.#sources;
    if (length > MAX_PATTERNS) {
      throw new DomainError("invalid", `at most ${MAX_PATTERNS} patterns for secrets are allowed, not ${length}`);
    }
    this.#compiledOthers ??= this.#sources.filter((source) => !isDefault(source)).map(compile);
    return this.#compiledOthers;
  }

  #patternsFor(text: string): readonly RE2JS[] {
    if (this.#defaults.length === 0 || !SUSPECT.test(text)) return this.#others();
    this.#compiledDefaults ??= this.#defaults.map(compile);
    return [...this.#compiledDefaults, ...this.#others()];
  }

  /** The text with `[redacted]` in place of each secret. */
  redact(text: string): string {
    return withoutSpans(text, this.find(text));
  }

  /** The secrets' positions, in order; they neither overlap nor touch. */
  find(text: string): readonly TextRange[] {
    // A search costs thirty times as much as a test, and most texts hold no secret.
    const hits = this.#patternsFor(text).filter((pattern) => pattern.test(text));
    return hits.length === 0 ? [] : merged(hits.flatMap((pattern) => spansOf(pattern, text)));
  }
}

const isDefault = (source: string): boolean => DEFAULT_REDACT_PATTERNS.includes(source);

function compile(source: string): RE2JS {
  if (source.length > MAX_PATTERN_CHARS) {
    throw new DomainError("invalid", `a pattern for secrets is longer than ${MAX_PATTERN_CHARS} characters`);
  }
  try {
    return RE2JS.compile(source, RE2JS.MULTILINE);
  } catch (err) {
    throw new DomainError("invalid", `${JSON.stringify(source)} is not a valid RE2 pattern`, { cause: err });
  }
}

function spansOf(pattern: RE2JS, text: string): readonly TextRange[] {
  const spans: TextRange[] = [];
  for (const match of pattern.matchAll(text)) {
    const start = match.index ?? 0;
    if (match[0] !== undefined && match[0] !== "") spans.push({ start, end: start + match[0].length });
  }
  return spans;
}

function merged(spans: readonly TextRange[]): readonly TextRange[] {
  const result: { start: number; end: number }[] = [];
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else result.push({ start, end });
  }
  return result;
}

function withoutSpans(text: string, spans: readonly TextRange[]): string {
  let out = "";
  let done = 0;
  for (const { start, end } of spans) {
    out += text.slice(done, start) + REDACTED;
    done = end;
  }
  return done === 0 ? text : out + text.slice(done);
}

/** The last characters of a text are held back, up to this number: a secret of this length is thus found as a whole. */
const HOLD_CHARS = 4096;
/** The beginning of a longer secret is remembered, so that the rest is recognised. */
const HEAD_CHARS = 512;

/**
 * Redacts a text that comes in pieces. A secret of at most 4,096 characters is found wherever the pieces are cut, a
 * longer one by its beginning. Text that `flush` has emitted cannot be taken back, but is still searched as the
 * beginning of a secret that continues.
 */
export class RedactStream {
  readonly #redactor: Redactor;
  /** Text that was already emitted, in its original form. */
  #before = "";
  /** `#before` ends within a secret whose mark has already been emitted. */
  #within = false;
  #held = "";

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** Adds a piece; returns the text that is certain by now. */
  push(text: string): string {
    this.#held += text;
    return this.#held.length <= HOLD_CHARS ? "" : this.#give(false);
  }

  /** Returns all text held back; call it when no piece may come for a while. */
  flush(): string {
    return this.#held === "" ? "" : this.#give(true);
  }

  #give(all: boolean): string {
    const from = this.#before.length;
    const window = this.#before + this.#held;
    const spans = this.#redactor.find(window);
    const to = all ? window.length : safeCut(window, from, spans);
    let out = "";
    let done = from;
    for (const { start, end } of spans) {
      if (end <= from || start >= to) continue;
      out += window.slice(done, Math.max(done, start));
      if (start >= from || !this.#within) out += REDACTED;
      done = Math.max(done, Math.min(end, to));
    }
    out += window.slice(done, to);
    const open = spans.find(({ start, end }) => start < to && end >= to);
    this.#within = open !== undefined;
    this.#before = remembered(window, open?.start ?? to, to);
    this.#held = window.slice(to);
    return out;
  }
}

/** The end of the text that is certain: never inside a secret that may be held back, nor inside a character. */
function safeCut(window: string, from: number, spans: readonly TextRange[]): number {
  let cut = Math.max(from, window.length - HOLD_CHARS);
  const open = spans.find(({ start, end }) => start < cut && end > cut);
  if (open !== undefined) cut = open.end < window.length || open.start < from ? open.end : heldFrom(open, window, cut);
  const code = window.charCodeAt(cut);
  return code >= 0xdc00 && code <= 0xdfff ? Math.max(from, cut - 1) : cut;
}

/** A secret that may still grow is held back as a whole, up to twice HOLD_CHARS. */
function heldFrom(open: TextRange, window: string, cut: number): number {
  return window.length - open.start <= 2 * HOLD_CHARS ? open.start : cut;
}

function remembered(window: string, secretAt: number, to: number): string {
  if (to - secretAt <= HOLD_CHARS) return window.slice(Math.max(0, to - HOLD_CHARS), to);
  return window.slice(secretAt, secretAt + HEAD_CHARS) + window.slice(to - (HOLD_CHARS - HEAD_CHARS), to);
}
