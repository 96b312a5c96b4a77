/** How far one subscriber has got; times are wall clock, ms. */
export interface Cursor {
  readonly subscriber: string;
  /** The last event that it is done with. */
  readonly seq: bigint;
  readonly at: number;
}

export interface CursorsOptions {
  /** One more takes the place of the one that has been idle longest. */
  readonly max: number;
  /** One that has not been heard of for this long is forgotten. */
  readonly idleMs: number;
}

/**
 * The acknowledged positions of subscribers, bounded in number and idle time. One that is forgotten begins at the start
 * again: it gets events twice or is told what is missing, never less.
 */
export class Cursors {
  readonly #options: CursorsOptions;
  /** In the order of their last sign of life. */
  readonly #cursors = new Map<string, Cursor>();

  /** `restored`: what an earlier process left behind. */
  constructor(options: CursorsOptions, restored: readonly Cursor[] = []) {
    this.#options = options;
    for (const cursor of restored.toSorted((a, b) => a.at - b.at)) this.#put(cursor);
  }

  /** 0 for one that has acknowledged nothing. Asking is a sign of life. */
  position(subscriber: string, now: number): bigint {
    const seq = this.#fresh(subscriber, now)?.seq;
    if (seq !== undefined) this.#put({ subscriber, seq, at: now });
    return seq ?? 0n;
  }

  /** Moves a position forward; returns the cursor, or undefined when it stands there or further already. */
  advance(subscriber: string, seq: bigint, now: number): Cursor | undefined {
    const before = this.#fresh(subscriber, now)?.seq;
    const cursor = { subscriber, seq: before !== undefined && before > seq ? before : seq, at: now };
    this.#put(cursor);
    return before !== undefined && before >= seq ? undefined : cursor;
  }

  /** All that are remembered. */
  list(now: number): readonly Cursor[] {
    return [...this.#cursors.values()].filter((cursor) => now - cursor.at < this.#options.idleMs);
  }

  /** Positions in an epoch that is over say nothing. */
  clear(): void {
    this.#cursors.clear();
  }

  #fresh(subscriber: string, now: number): Cursor | undefined {
    const cursor = this.#cursors.get(subscriber);
    return cursor !== undefined && now - cursor.at < this.#options.idleMs ? cursor : undefined;
  }

  #put(cursor: Cursor): void {
    this.#cursors.delete(cursor.subscriber);
    this.#cursors.set(cursor.subscriber, cursor);
    for (const oldest of this.#cursors.keys()) {
      if (this.#cursors.size <= this.#options.max) return;
      this.#cursors.delete(oldest);
    }
  }
}
