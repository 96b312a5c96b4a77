import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";

/** Wall clock, ms; 0: the message has none. */
export function millisecondsOf(time: Timestamp | undefined): number {
  return time === undefined ? 0 : timestampMs(time);
}

/** Milliseconds, UTC. */
export function rfc3339(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
