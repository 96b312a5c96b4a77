/** One update that is due. */
export interface DueUpdate<T> {
  readonly value: T;
  /** Position in the stream, the first is 1. */
  readonly seq: bigint;
  /** First of the updates right before it that its reader does not get; absent: it gets all. */
  readonly missedFrom?: bigint;
}

/**
 * Updates that one reader has not taken yet, at most one for each key: a later one takes the place of an earlier one,
 * whose number is then named as missed.
 */
export class UpdateQueue<T> {
  readonly #due = new Map<string, { readonly value: T; readonly seq: bigint }>();
  #produced = 0n;
  #given = 0n;

  put(key: string, value: T): void {
    this.#due.delete(key);
    this.#due.set(key, { value, seq: ++this.#produced });
  }

  /** The oldest; undefined: none is due. */
  take(): DueUpdate<T> | undefined {
    const [first] = this.#due;
    if (first === undefined) return undefined;
    const [key, { value, seq }] = first;
    this.#due.delete(key);
    const next = this.#given + 1n;
    this.#given = seq;
    return { value, seq, ...(next < seq && { missedFrom: next }) };
  }
}
