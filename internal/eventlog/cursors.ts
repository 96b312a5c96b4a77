/** A subscriber, named by its owner and its own name: equal names of different owners are different subscribers. */
export interface Subscriber {
  /** Empty: callers cannot be distinguished. */
  readonly owner: string;
  readonly subscriber: string;
}

/** The position of one subscriber. Times are milliseconds on a timeline that never jumps, see `MachineTime`. */
export interface Cursor extends Subscriber {
  /** The last event that the subscriber has acknowledged. */
  readonly seq: bigint;
  readonly at: number;
}

export interface CursorsOptions {
  readonly max: number;
  /** The limit per owner, where owners can be distinguished. */
  readonly maxOfOne: number;
  /** A cursor that has not been used for this long is forgotten. */
  readonly idleMs: number;
}

/**
 * The acknowledged positions of subscribers, bounded in number and idle time. When there is no room, a new position
 * replaces the longest idle one of the same owner or, if that owner has none, of the owner that has the most. A
 * forgotten subscriber begins at the start again: it gets events twice or a reported gap, but never misses events
 * silently.
 */
export class Cursors {
  readonly #options: CursorsOptions;
  /** By owner and name, both in the order of their last sign of life. */
  readonly #owners = new Map<string, Map<string, Cursor>>();
  #size = 0;

  /** `restored`: the positions of an earlier process. */
  constructor(options: CursorsOptions, restored: readonly Cursor[] = []) {
    this.#options = options;
    for (const cursor of restored.toSorted((a, b) => a.at - b.at)) this.#put(cursor);
  }

  /** The position of a subscriber, 0 if it has acknowledged nothing. The call counts as a sign of life. */
  position(who: Subscriber, now: number): bigint {
    const seq = this.#fresh(who, now)?.seq;
    if (seq !== undefined) this.#put({ ...who, seq, at: now });
    return seq ?? 0n;
  }

  /** Moves a position forward and returns the cursor; undefined if the position was already there or beyond. */
  advance(who: Subscriber, seq: bigint, now: number): Cursor | undefined {
    const before = this.#fresh(who, now)?.seq;
    const cursor = { ...who, seq: before !== undefined && before > seq ? before : seq, at: now };
    this.#put(cursor);
    return before !== undefined && before >= seq ? undefined : cursor;
  }

  /** All cursors that have not been idle for too long. */
  list(now: number): readonly Cursor[] {
    const all = [...this.#owners.values()].flatMap((own) => [...own.values()]);
    return all.filter((cursor) => now - cursor.at < this.#options.idleMs);
  }

  /** Forgets all positions: those of an ended epoch have no meaning. */
  clear(): void {
    this.#owners.clear();
    this.#size = 0;
  }

  #fresh({ owner, subscriber }: Subscriber, now: number): Cursor | undefined {
    const cursor = this.#owners.get(owner)?.get(subscriber);
    return cursor !== undefined && now - cursor.at < this.#options.idleMs ? cursor : undefined;
  }

  #put(cursor: Cursor): void {
    const { owner, subscriber } = cursor;
    this.#remove(owner, subscriber);
    const own = this.#owners.get(owner) ?? new Map<string, Cursor>();
    this.#owners.set(owner, own);
    const { max, maxOfOne } = this.#options;
    if ((owner !== "" && own.size >= maxOfOne) || (this.#size >= max && own.size > 0)) this.#removeOldest(owner, own);
    else if (this.#size >= max) this.#removeOldest(...this.#largest());
    this.#owners.set(owner, own.set(subscriber, cursor));
    this.#size++;
  }

  #largest(): [owner: string, own: Map<string, Cursor>] {
    return [...this.#owners].reduce((most, each) => (each[1].size > most[1].size ? each : most));
  }

  #removeOldest(owner: string, own: ReadonlyMap<string, Cursor>): void {
    const [oldest] = own.keys();
    if (oldest !== undefined) this.#remove(owner, oldest);
  }

  #remove(owner: string, subscriber: string): void {
    const own = this.#owners.get(owner);
    if (own?.delete(subscriber) !== true) return;
    this.#size--;
    if (own.size === 0) this.#owners.delete(owner);
  }
}
