import { DomainError } from "../base/errors.ts";

/** One event as it is held. */
export interface Held<T> {
  readonly seq: bigint;
  readonly event: T;
}

/** Events by ascending numbers; those of one epoch may have holes. */
export interface EventSource<T> {
  readonly epoch: string;
  /** Number of the oldest event held; if none is held, the number of the next event. */
  readonly oldest: bigint;
  /** The last number handed out or skipped. */
  readonly head: bigint;
  /** The first number that this process could hand out. */
  readonly start: bigint;
  /** True once nothing more will come. */
  readonly closed: boolean;
  /** The first event held after a number; `hole`: the reason why the numbers right before it were never held. */
  after(seq: bigint): (Held<T> & { readonly hole?: Missing["reason"] | undefined }) | undefined;
  /** Resolves when, after this call, something is appended, the epoch changes or the log is closed. */
  grown(): Promise<void>;
}

/** The position at which a reader begins. */
export interface FollowRequest {
  /** The reader gets the events after this number; absent: all events from the oldest that is held. */
  readonly after?: bigint | undefined;
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
  /** Sent once before the events continue. `seq`: the number before the next event. */
  | { readonly type: "missing"; readonly seq: bigint; readonly missing: Missing }
);

/**
 * A reader's place in a log. It holds no events: those that the log has dropped before they were read are reported as
 * missing.
 */
export class LogCursor<T> {
  readonly #log: EventSource<T>;
  /** Empty: the cursor was opened before the log had an epoch. */
  #epoch: string;
  #position: bigint;
  /** True once the reader has been at the end, or has got an event: if it misses events after that, it was too slow. */
  #isLive = false;

  private constructor(log: EventSource<T>, position: bigint) {
    this.#log = log;
    this.#epoch = log.epoch;
    this.#position = position;
  }

  /**
   * @throws DomainError `precondition` for another epoch, or for a number after the head; its fields are the log's
   * `epoch` and `head`
   */
  static open<T>(log: EventSource<T>, { epoch, after }: FollowRequest): LogCursor<T> {
    checkPosition(log, epoch, after);
    return new LogCursor(log, after ?? log.oldest - 1n);
  }

  /**
   * The next event, or a report of missing ones: each number is covered once, in order. Undefined: nothing yet.
   * @throws DomainError `precondition` when the log has begun a new epoch
   */
  next(): Followed<T> | undefined {
    const log = this.#log;
    this.#epoch ||= log.epoch;
    const epoch = this.#epoch;
    checkPosition(log, epoch, undefined);
    const first = this.#position + 1n;
    const held = log.after(this.#position);
    const to = held?.seq ?? log.oldest;
    if (to > first) {
      this.#position = to - 1n;
      const reason = held?.hole ?? (this.#isLive ? "slow-reader" : first < log.start ? "restart" : "evicted");
      return { type: "missing", epoch, seq: to - 1n, missing: { first, to, reason } };
    }
    this.#isLive = true;
    if (held === undefined) return undefined;
    this.#position = held.seq;
    return { type: "event", epoch, seq: held.seq, event: held.event };
  }
}

/** Checks that a reader can continue there. @throws DomainError `precondition`, as `LogCursor.open` */
export function checkPosition(
  log: Pick<EventSource<unknown>, "epoch" | "head">,
  epoch: string,
  seq: bigint | undefined,
): void {
  if ((epoch === "" || epoch === log.epoch) && (seq === undefined || seq <= log.head)) return;
  const fields = { epoch: log.epoch, head: log.head.toString() };
  if (epoch !== "" && epoch !== log.epoch) {
    throw new DomainError(
      "precondition",
      `cannot continue in epoch "${epoch.slice(0, 64)}": it is "${log.epoch}" now`,
      {
        fields,
      },
    );
  }
  throw new DomainError("precondition", `cannot continue after event ${seq}: the last one is ${log.head}`, { fields });
}
