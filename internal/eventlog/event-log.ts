import { randomUUID } from "node:crypto";
import type { EventSource, Held } from "./log-cursor.ts";

/** Sequence numbers that this log may hand out, reserved in a store that outlives the process. */
export interface SeqReservation {
  readonly epoch: string;
  /** The last number that may have been handed out. */
  readonly reservedTo: bigint;
}

export interface EventLogDeps {
  /** Stores a reservation so that it outlives this process, before it returns; false if that failed. */
  readonly keep: (reservation: SeqReservation) => boolean;
}

export interface EventLogOptions {
  readonly maxEvents: number;
  /** The limit of the sizes given to `append`. The newest event is held whatever its size. */
  readonly maxBytes: number;
  /** The reservation of an earlier process; absent: there was none, or it is lost. */
  readonly before?: SeqReservation | undefined;
}

/** Numbers are reserved in batches, so that the journal is written once per batch. */
const RESERVE = 256n;
/** Evicted entries are removed from the array in batches. */
const EVICT_LOT = 1024;

/**
 * The last events of a session, numbered from 1, bounded by count and bytes: the oldest go first. A number is never
 * used twice within an epoch: a log that continues the log of an earlier process begins above every number that the
 * earlier one may have handed out. If numbers can no longer be reserved, the log renumbers what it holds under a new
 * epoch that no reader will continue.
 */
export class EventLog<T> implements EventSource<T> {
  readonly #deps: EventLogDeps;
  readonly #maxEvents: number;
  readonly #maxBytes: number;
  /** Entries before `#from` have been evicted. */
  #entries: ({ readonly event: T; readonly bytes: number } | undefined)[] = [];
  #from = 0;
  #bytes = 0;
  /** Number of `#entries[0]`, evicted or not. */
  #base: bigint;
  #start: bigint;
  #epoch: string;
  #reservedTo = 0n;
  /** True if the journal holds a reservation of this epoch. */
  #isReserved: boolean;
  #grown: PromiseWithResolvers<void> | undefined;
  #closed = false;

  constructor(deps: EventLogDeps, options: EventLogOptions) {
    this.#deps = deps;
    this.#maxEvents = options.maxEvents;
    this.#maxBytes = options.maxBytes;
    const { before } = options;
    this.#epoch = before?.epoch ?? randomUUID();
    this.#isReserved = before !== undefined;
    // One number is skipped, so that a reader that has read all the old ones gets a gap.
    this.#start = before === undefined ? 1n : before.reservedTo + 2n;
    this.#base = this.#start;
    this.#reserve();
  }

  /** Changes when the numbers begin again. */
  get epoch(): string {
    return this.#epoch;
  }

  get start(): bigint {
    return this.#start;
  }

  get oldest(): bigint {
    return this.#base + BigInt(this.#from);
  }

  /** The last number handed out; before the first, one less than `start`. */
  get head(): bigint {
    return this.#base + BigInt(this.#entries.length) - 1n;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#entries.length - this.#from;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** The reservation that the journal must hold for this log; undefined if no reservation could be kept. */
  get reservation(): SeqReservation | undefined {
    return this.#isReserved ? { epoch: this.#epoch, reservedTo: this.#reservedTo } : undefined;
  }

  /**
   * Adds an event and returns its number; undefined when the log is closed. `bytes`: its approximate size in memory.
   */
  append(event: T, bytes: number): bigint | undefined {
    if (this.#closed) return undefined;
    if (this.head >= this.#reservedTo) this.#reserve();
    this.#entries.push({ event, bytes });
    this.#bytes += bytes;
    while (this.size > 1 && (this.size > this.#maxEvents || this.#bytes > this.#maxBytes)) this.#evict();
    this.#notify();
    return this.head;
  }

  /** The event with this number; undefined when it is not held. */
  get(seq: bigint): T | undefined {
    return seq < this.oldest ? undefined : this.#entries[Number(seq - this.#base)]?.event;
  }

  after(seq: bigint): Held<T> | undefined {
    const next = seq < this.oldest ? this.oldest : seq + 1n;
    const event = this.get(next);
    return event === undefined ? undefined : { seq: next, event };
  }

  close(): void {
    this.#closed = true;
    this.#notify();
  }

  grown(): Promise<void> {
    this.#grown ??= Promise.withResolvers<void>();
    return this.#grown.promise;
  }

  #notify(): void {
    this.#grown?.resolve();
    this.#grown = undefined;
  }

  #evict(): void {
    this.#bytes -= this.#entries[this.#from]?.bytes ?? 0;
    this.#entries[this.#from] = undefined;
    this.#from++;
    if (this.#from < EVICT_LOT) return;
    this.#entries.splice(0, this.#from);
    this.#base += BigInt(this.#from);
    this.#from = 0;
  }

  #reserve(): void {
    const reservedTo = this.head + RESERVE;
    const kept = this.#deps.keep({ epoch: this.#epoch, reservedTo });
    if (!kept && this.#isReserved) {
      this.#beginEpoch();
      return;
    }
    this.#isReserved = kept;
    this.#reservedTo = reservedTo;
  }

  /** Begins a new epoch: a later process would continue the old one with numbers that this process is about to use. */
  #beginEpoch(): void {
    this.#entries.splice(0, this.#from);
    this.#from = 0;
    this.#base = 1n;
    this.#start = 1n;
    this.#epoch = randomUUID();
    this.#isReserved = false;
    this.#reserve();
    this.#notify();
  }
}
