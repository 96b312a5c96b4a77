import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";

/** Converts a time to wall clock, ms; 0 if the message has none. */
export function millisecondsOf(time: Timestamp | undefined): number {
  return time === undefined ? 0 : timestampMs(time);
}

/** Formats a time (wall clock, ms) in UTC with milliseconds. */
export function rfc3339(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
