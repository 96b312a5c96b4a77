/** One update that is due. */
export interface DueUpdate<T> {
  readonly value: T;
  /** Position in the stream, the first is 1. */
  readonly seq: bigint;
  /** First of the updates right before it that its reader does not get; absent: it gets all. */
  readonly missedFrom?: bigint;
}

/** An update that was taken, to be numbered when its reader gets it. */
export interface TakenUpdate<T> {
  readonly key: string;
  readonly value: T;
  /** How many it has taken the place of. */
  readonly missed: number;
}

/**
 * Updates that one reader has not taken yet, at most one for each key: a later one takes the place of an earlier one,
 * whose number is then named as missed.
 */
export class UpdateQueue<T> {
  readonly #due = new Map<string, TakenUpdate<T>>();
  #given = 0n;

  put(key: string, value: T): void {
    const before = this.#due.get(key);
    this.#due.delete(key);
    this.#due.set(key, { key, value, missed: before === undefined ? 0 : before.missed + 1 });
  }

  /** The oldest of a key that is not in `busy`; undefined: none is due. */
  take(busy: { has(key: string): boolean } = NONE): TakenUpdate<T> | undefined {
    for (const [key, update] of this.#due) {
      if (busy.has(key)) continue;
      this.#due.delete(key);
      return update;
    }
    return undefined;
  }

  /** Numbers what its reader gets now, with `value` as its content. */
  give<V>({ missed }: TakenUpdate<T>, value: V): DueUpdate<V> {
    const first = this.#given + 1n;
    this.#given = first + BigInt(missed);
    return { value, seq: this.#given, ...(missed > 0 && { missedFrom: first }) };
  }
}

const NONE: ReadonlySet<string> = new Set();
