/** A wall-clock time for JSON: RFC 3339, UTC, milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
