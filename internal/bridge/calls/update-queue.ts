/** One update that is due. */
export interface DueUpdate<T> {
  readonly value: T;
  /** Position in the stream; the first is 1. */
  readonly seq: bigint;
  /** Position of the first update that the reader missed just before this one; absent: the reader missed none. */
  readonly missedFrom?: bigint | undefined;
}

/** An update that was taken from the queue, to be numbered when the reader gets it. */
export interface TakenUpdate<T> {
  readonly key: string;
  readonly value: T;
  /** The number of updates that it replaced. */
  readonly missed: number;
}

/**
 * Pending updates of one reader, at most one per key: a later update replaces an earlier one, whose number is then
 * reported as missed.
 */
export class UpdateQueue<T> {
  readonly #due = new Map<string, TakenUpdate<T>>();
  #given = 0n;

  put(key: string, value: T): void {
    const before = this.#due.get(key);
    this.#due.delete(key);
    this.#due.set(key, { key, value, missed: before === undefined ? 0 : before.missed + 1 });
  }

  /** Removes and returns the oldest update whose key is not in `busy`; undefined: none is pending. */
  take(busy: { has(key: string): boolean } = NONE): TakenUpdate<T> | undefined {
    for (const [key, update] of this.#due) {
      if (busy.has(key)) continue;
      this.#due.delete(key);
      return update;
    }
    return undefined;
  }

  /** Numbers an update as the reader gets it, with `value` as its content. */
  give<V>({ missed }: TakenUpdate<T>, value: V): DueUpdate<V> {
    const first = this.#given + 1n;
    this.#given = first + BigInt(missed);
    return { value, seq: this.#given, missedFrom: missed > 0 ? first : undefined };
  }
}

const NONE: ReadonlySet<string> = new Set();
