/** A key that is being done, and whose it is. */
export interface BegunKey {
  readonly key: string;
  readonly group: string;
}

/** Keys that wait to be done: groups take turns, and the keys of one are done in their order, a few at a time. */
export class KeyTurns {
  readonly #maxOfOne: number;
  /** By group, that whose turn is next first. */
  readonly #waiting = new Map<string, Set<string>>();
  /** By group: how many are being done. */
  readonly #begun = new Map<string, number>();
  #size = 0;

  /** `maxOfOne`: so many keys of one group are being done at a time at most. */
  constructor(maxOfOne: number) {
    this.#maxOfOne = maxOfOne;
  }

  /** How many wait. */
  get size(): number {
    return this.#size;
  }

  /** One that waits already keeps its place. */
  add(key: string, group: string): void {
    const keys = this.#waiting.get(group) ?? new Set();
    if (keys.has(key)) return;
    this.#waiting.set(group, keys.add(key));
    this.#size++;
  }

  /** Takes the next key out, of which `end` is called when it is done; undefined: none may begin now. */
  begin(): BegunKey | undefined {
    for (const [group, keys] of this.#waiting) {
      const begun = this.#begun.get(group) ?? 0;
      const [key] = keys;
      if (begun >= this.#maxOfOne || key === undefined) continue;
      keys.delete(key);
      this.#size--;
      this.#begun.set(group, begun + 1);
      // The other groups have their turns before it has another.
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
