/** A key that is being processed, and its group. */
export interface BegunKey {
  readonly key: string;
  readonly group: string;
}

/** Keys waiting to be processed: groups take turns; the keys of a group are processed in order, a few at a time. */
export class KeyTurns {
  readonly #maxOfOne: number;
  /** Keys by group; the group whose turn is next comes first. */
  readonly #waiting = new Map<string, Set<string>>();
  /** The number of keys being processed, by group. */
  readonly #begun = new Map<string, number>();
  #size = 0;

  /** `maxOfOne`: the most keys of one group that are processed concurrently. */
  constructor(maxOfOne: number) {
    this.#maxOfOne = maxOfOne;
  }

  /** The number of waiting keys. */
  get size(): number {
    return this.#size;
  }

  /** A key that already waits keeps its place. */
  add(key: string, group: string): void {
    const keys = this.#waiting.get(group) ?? new Set();
    if (keys.has(key)) return;
    this.#waiting.set(group, keys.add(key));
    this.#size++;
  }

  /** Removes and returns the next key; call `end` when it is done. Undefined: none may begin now. */
  begin(): BegunKey | undefined {
    for (const [group, keys] of this.#waiting) {
      const begun = this.#begun.get(group) ?? 0;
      const [key] = keys;
      if (begun >= this.#maxOfOne || key === undefined) continue;
      keys.delete(key);
      this.#size--;
      this.#begun.set(group, begun + 1);
      // Move the group to the end, behind the other groups.
      this.#waiting.delete(group);
      if (keys.size > 0) this.#waiting.set(group, keys);
      return { key, group };
    }
    return undefined;
  }

  end(group: string): void {
    const left = (this.#begun.get(group) ?? 1) - 1;
    if (left > 0) this.#begun.set(group, left);
    else this.#begun.delete(group);
  }
}
