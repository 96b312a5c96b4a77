interface TurnRecord {
  readonly type: string;
  readonly turn: string;
}

/** A file of records that can be replaced by a shorter one. */
interface KeptJournal<R> {
  readonly bytes: number;
  rewrite(records: readonly R[]): void;
}

interface KeptTurn<R> {
  readonly records: R[];
  bytes: number;
  /** The number of turns that ended before this one. */
  order: number;
}

interface EndedTurns<R> {
  /** Oldest first. */
  readonly turns: Map<string, KeptTurn<R>>;
  bytes: number;
}

/** The maximum number of ended turns of each kind that are kept. */
const MAX_TURNS = 500;
/** The maximum size of the ended turns of each kind, as lines of the journal, in bytes. */
const MAX_BYTES = 24 * 1024 * 1024;
/** A larger journal is replaced by one with the kept records. */
const REWRITE_BYTES = 64 * 1024 * 1024;

/**
 * The records of a journal's latest turns: a journal that is too long is replaced by one that has only these. All open
 * turns are kept. Each of the two kinds of turns has its own limits, so that neither displaces the other.
 */
export class KeptTurns<R extends TurnRecord> {
  readonly #isFirstKind: (first: R) => boolean;
  /** Oldest first. */
  readonly #open = new Map<string, KeptTurn<R>>();
  readonly #kinds: readonly [EndedTurns<R>, EndedTurns<R>] = [
    { turns: new Map(), bytes: 0 },
    { turns: new Map(), bytes: 0 },
  ];
  #order = 0;
  #openBytes = 0;
  #shortenedBytes = 0;

  /** @param isFirstKind reports, from a turn's first record, whether the turn is of the first kind */
  constructor(isFirstKind: (first: R) => boolean = () => true) {
    this.#isFirstKind = isFirstKind;
  }

  /** Adds a record whose line in the journal has this many bytes. @returns the records of its turn so far, in order */
  take(record: R, bytes = Buffer.byteLength(JSON.stringify(record))): readonly R[] {
    const { turn } = record;
    const kept = this.#open.get(turn) ?? { records: [], bytes: 0, order: 0 };
    kept.records.push(record);
    kept.bytes += bytes;
    this.#openBytes += bytes;
    if (record.type === "end" || record.type === "forgotten") this.#end(turn, kept);
    else this.#open.set(turn, kept);
    return kept.records;
  }

  /** The records of a turn. Undefined: the turn is no longer kept, or never was. */
  of(turn: string): readonly R[] | undefined {
    const [first, second] = this.#kinds;
    return (this.#open.get(turn) ?? first.turns.get(turn) ?? second.turns.get(turn))?.records;
  }

  /** The turns that have not ended, oldest first. */
  get open(): readonly string[] {
    return [...this.#open.keys()];
  }

  /** Bytes of the lines of turns that have not ended. */
  get openBytes(): number {
    return this.#openBytes;
  }

  /**
   * Replaces a journal that is too long with one of the kept records. If that is still too long, or cannot be written,
   * the next attempt follows after the journal has grown by half; nothing recorded is lost.
   */
  shorten(journal: KeptJournal<R>): void {
    if (journal.bytes <= Math.max(REWRITE_BYTES, this.#shortenedBytes * 1.5)) return;
    try {
      const ended = this.#kinds.flatMap(({ turns }) => [...turns.values()]).sort((a, b) => a.order - b.order);
      journal.rewrite([...ended, ...this.#open.values()].flatMap(({ records }) => records));
    } catch {
      // The volume is full; the next append reports it.
    }
    this.#shortenedBytes = journal.bytes;
  }

  #end(turn: string, kept: KeptTurn<R>): void {
    this.#open.delete(turn);
    this.#openBytes -= kept.bytes;
    kept.order = this.#order++;
    const ended = this.#kinds[this.#isFirstKind(kept.records[0] as R) ? 0 : 1];
    ended.turns.set(turn, kept);
    ended.bytes += kept.bytes;
    for (const [oldest, { bytes }] of ended.turns) {
      if (ended.turns.size <= MAX_TURNS && ended.bytes <= MAX_BYTES) return;
      ended.turns.delete(oldest);
      ended.bytes -= bytes;
    }
  }
}
