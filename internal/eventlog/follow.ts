import { raceSignal } from "../base/abort.ts";
import { DomainError } from "../base/errors.ts";
import type { EventLog, Held } from "./event-log.ts";

/** Where a reader wants to begin. */
export interface FollowRequest {
  /** Events after this one; absent: from the oldest that is held. */
  readonly after?: bigint;
  /** The epoch that `after` belongs to; empty: not checked. */
  readonly epoch: string;
}

/** Numbers that this reader does not get: from `first` up to, and without, `to`. */
export interface Missing {
  readonly first: bigint;
  readonly to: bigint;
  readonly reason: "slow-reader" | "evicted" | "restart";
}

export type Followed<T> = { readonly epoch: string } & (
  | ({ readonly type: "event" } & Held<T>)
  /** Once before the events go on; `seq` is that of the oldest held less one. */
  | { readonly type: "missing"; readonly seq: bigint; readonly missing: Missing }
);

/**
 * Events after a position, then those that come, until the log is closed. Each number is given exactly once and in order,
 * or is named as missing. Holds nothing for the reader: one that is slower than the log's bounds is told what it missed.
 * @throws DomainError `precondition` for another epoch or a number ahead of the head, with `epoch` and `head`; also in the
 * middle, when the log begins a new epoch. The signal's reason when that is aborted.
 */
export function follow<T>(
  log: EventLog<T>,
  request: FollowRequest,
  signal: AbortSignal,
): AsyncGenerator<Followed<T>, void> {
  checkPosition(log, request.epoch, request.after);
  return read(log, request.after ?? log.oldest - 1n, signal);
}

/** @throws DomainError `precondition` */
export function checkPosition<T>(log: EventLog<T>, epoch: string, seq: bigint | undefined): void {
  const fields = { epoch: log.epoch, head: log.head.toString() };
  if (epoch !== "" && epoch !== log.epoch) {
    throw new DomainError("precondition", `cannot go on in epoch "${epoch.slice(0, 64)}": it is "${log.epoch}" now`, {
      fields,
    });
  }
  if (seq !== undefined && seq > log.head) {
    throw new DomainError("precondition", `cannot go on after event ${seq}: the last one is ${log.head}`, { fields });
  }
}

async function* read<T>(log: EventLog<T>, after: bigint, signal: AbortSignal): AsyncGenerator<Followed<T>, void> {
  const { epoch } = log;
  let position = after;
  for (let live = false; ; live = true) {
    // Asked for before the log is read: what comes in between wakes this reader.
    const grown = log.grown();
    for (;;) {
      signal.throwIfAborted();
      checkPosition(log, epoch, undefined);
      const next = position + 1n;
      const { oldest } = log;
      if (next < oldest) {
        const reason = live ? "slow-reader" : next < log.start ? "restart" : "evicted";
        position = oldest - 1n;
        yield { type: "missing", epoch, seq: position, missing: { first: next, to: oldest, reason } };
        continue;
      }
      const event = log.get(next);
      if (event === undefined) break;
      position = next;
      live = true;
      yield { type: "event", epoch, seq: next, event };
    }
    if (log.closed) return;
    await raceSignal(grown, signal);
  }
}
