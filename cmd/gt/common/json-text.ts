/** DEL, C1 controls and bidirectional overrides, which JSON would let through as they are. */
const UNSAFE = /[\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/**
 * JSON on one line that is safe to print anywhere: whatever a terminal would obey is written as `\uXXXX`, so nothing is
 * lost. Big integers become numbers.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value, (_, part) => (typeof part === "bigint" ? Number(part) : part));
  return text.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A wall-clock time for JSON: RFC 3339, UTC, milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
