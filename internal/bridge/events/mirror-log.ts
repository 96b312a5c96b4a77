import { type EventSource, type Held, LogCursor, type Missing } from "../../eventlog/log-cursor.ts";

interface Entry<T> extends Held<T> {
  readonly bytes: number;
  readonly hole?: Missing["reason"] | undefined;
}

export interface MirrorLogOptions {
  readonly eventBuffer: number;
  readonly eventBytes: number;
}

/**
 * A copy of the last events of another log, with that log's numbers; bounded by count and bytes, and the oldest are
 * dropped first. Missing numbers remain gaps, which are reported to readers.
 */
export class MirrorLog<T> implements EventSource<T> {
  readonly start = 1n;
  readonly #options: MirrorLogOptions;
  /** In ascending order; entries before index `#from` have been dropped. */
  #entries: (Entry<T> | undefined)[] = [];
  #from = 0;
  #epoch = "";
  #head = 0n;
  #bytes = 0;
  #closed = false;
  #grown: PromiseWithResolvers<void> | undefined;

  constructor(options: MirrorLogOptions) {
    this.#options = options;
  }

  /** Empty until `begin` names one. */
  get epoch(): string {
    return this.#epoch;
  }

  get head(): bigint {
    return this.#head;
  }

  get oldest(): bigint {
    return this.#entries[this.#from]?.seq ?? this.#head + 1n;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get closed(): boolean {
    return this.#closed;
  }

  after(seq: bigint): Entry<T> | undefined {
    let low = this.#from;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries[middle] as Entry<T>).seq <= seq) low = middle + 1;
      else high = middle;
    }
    return this.#entries[low];
  }

  /** A reader positioned after `seq`. @throws DomainError `precondition` for another epoch */
  cursorAfter(seq: bigint, epoch: string): LogCursor<T> {
    return LogCursor.open(this, { epoch, after: seq });
  }

  /**
   * Appends an event; ignores a number that was appended before. `hole`: why the numbers just before it are missing.
   */
  append(seq: bigint, event: T, bytes: number, hole?: Missing["reason"]): void {
    if (this.#closed || seq <= this.#head) return;
    this.#entries.push({ seq, event, bytes, hole });
    this.#head = seq;
    this.#bytes += bytes;
    const { eventBuffer, eventBytes } = this.#options;
    while (this.#size > 1 && (this.#size > eventBuffer || this.#bytes > eventBytes)) this.#evict();
    this.#notify();
  }

  /** Drops all events and starts an epoch whose first event follows `head`. Does nothing for the current epoch. */
  begin(epoch: string, head = 0n): void {
    if (this.#closed || epoch === this.#epoch) return;
    this.#entries = [];
    this.#from = 0;
    this.#bytes = 0;
    this.#head = head;
    this.#epoch = epoch;
    this.#notify();
  }

  close(): void {
    this.#closed = true;
    this.#notify();
  }

  grown(): Promise<void> {
    this.#grown ??= Promise.withResolvers<void>();
    return this.#grown.promise;
  }

  get #size(): number {
    return this.#entries.length - this.#from;
  }

  #notify(): void {
    this.#grown?.resolve();
    this.#grown = undefined;
  }

  #evict(): void {
    this.#bytes -= this.#entries[this.#from]?.bytes ?? 0;
    this.#entries[this.#from++] = undefined;
    if (this.#from < 1024) return;
    this.#entries.splice(0, this.#from);
    this.#from = 0;
  }
}
