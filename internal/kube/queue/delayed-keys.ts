/** Keys with due times, the earliest first. Each key is stored once, with its earliest time. */
export class DelayedKeys {
  readonly #dueAt = new Map<string, number>();
  /** A binary heap; entries whose time is outdated are skipped. */
  readonly #heap: { readonly key: string; readonly at: number }[] = [];

  get size(): number {
    return this.#dueAt.size;
  }

  put(key: string, at: number): void {
    const known = this.#dueAt.get(key);
    if (known !== undefined && known <= at) return;
    this.#dueAt.set(key, at);
    this.#push({ key, at });
  }

  /** The time of the first key; undefined: the queue is empty. */
  nextAt(): number | undefined {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (this.#dueAt.get(first.key) === first.at) return first.at;
      this.#pop();
    }
    return undefined;
  }

  /** Removes and returns a key that is due at `now`; undefined: none. */
  take(now: number): string | undefined {
    const at = this.nextAt();
    if (at === undefined || at > now) return undefined;
    const key = this.#pop()?.key;
    if (key !== undefined) this.#dueAt.delete(key);
    return key;
  }

  #push(entry: { readonly key: string; readonly at: number }): void {
    const heap = this.#heap;
    let i = heap.push(entry) - 1;
    while (i > 0) {
      const up = (i - 1) >> 1;
      const above = heap[up];
      if (above === undefined || above.at <= entry.at) break;
      heap[i] = above;
      i = up;
    }
    heap[i] = entry;
  }

  #pop(): { readonly key: string; readonly at: number } | undefined {
    const heap = this.#heap;
    const [first, last] = [heap[0], heap.pop()];
    if (last === undefined || heap.length === 0) return first;
    let i = 0;
    for (;;) {
      const [left, right] = [heap[2 * i + 1], heap[2 * i + 2]];
      const isRight = right !== undefined && left !== undefined && right.at < left.at;
      const child = isRight ? right : left;
      if (child === undefined || child.at >= last.at) break;
      heap[i] = child;
      i = 2 * i + (isRight ? 2 : 1);
    }
    heap[i] = last;
    return first;
  }
}
