import { raceSignal } from "../base/abort.ts";
import { type EventSource, type Followed, type FollowRequest, LogCursor } from "./log-cursor.ts";

/**
 * Yields the events after a position, then live ones, until the log is closed; see `LogCursor`.
 * @throws DomainError as `LogCursor.open` and, between events, as `LogCursor.next`; the signal's reason once the signal
 * is aborted
 */
export function follow<T>(
  log: EventSource<T>,
  request: FollowRequest,
  signal: AbortSignal,
): AsyncGenerator<Followed<T>, void> {
  return read(log, LogCursor.open(log, request), signal);
}

async function* read<T>(
  log: EventSource<T>,
  cursor: LogCursor<T>,
  signal: AbortSignal,
): AsyncGenerator<Followed<T>, void> {
  for (;;) {
    // Called before the log is read, so that an event that is added in between wakes this reader.
    const grown = log.grown();
    for (;;) {
      signal.throwIfAborted();
      const next = cursor.next();
      if (next === undefined) break;
      yield next;
    }
    if (log.closed) return;
    await raceSignal(grown, signal);
  }
}
