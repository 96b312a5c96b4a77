interface TurnRecord {
  readonly type: string;
  readonly turn: string;
}

/** A file of records that can begin again. */
interface KeptJournal<R> {
  readonly bytes: number;
  rewrite(records: readonly R[]): void;
}

interface KeptTurn<R> {
  readonly records: R[];
  bytes: number;
}

/** Turns that have ended and are kept. */
const MAX_TURNS = 500;
/** And their records as lines, bytes. */
const MAX_BYTES = 24 * 1024 * 1024;
/** Beyond this a journal begins again with the records that are kept. */
const REWRITE_BYTES = 64 * 1024 * 1024;

/** The records of a journal's latest turns: it begins again with them. A turn without an end is kept. */
export class KeptTurns<R extends TurnRecord> {
  /** Oldest first. */
  readonly #open = new Map<string, KeptTurn<R>>();
  readonly #ended = new Map<string, KeptTurn<R>>();
  #endedBytes = 0;
  #openBytes = 0;
  #shortenedBytes = 0;

  /** Takes a record in that has so many bytes as a line. @returns those of its turn so far, in order */
  take(record: R, bytes = Buffer.byteLength(JSON.stringify(record))): readonly R[] {
    const { turn } = record;
    const kept = this.#open.get(turn) ?? { records: [], bytes: 0 };
    kept.records.push(record);
    kept.bytes += bytes;
    this.#openBytes += bytes;
    if (record.type === "end" || record.type === "forgotten") this.#end(turn, kept);
    else this.#open.set(turn, kept);
    return kept.records;
  }

  /** The records of a turn; undefined: it is not kept any more, or never was. */
  of(turn: string): readonly R[] | undefined {
    return (this.#open.get(turn) ?? this.#ended.get(turn))?.records;
  }

  /** Turns without an end. */
  get open(): readonly string[] {
    return [...this.#open.keys()];
  }

  /** Bytes of the lines of turns that have not ended. */
  get openBytes(): number {
    return this.#openBytes;
  }

  /**
   * Lets a journal that is long begin again with what is kept. Where that does not make it short, or cannot be written,
   * it goes on and grows by half first: what was appended to it is on record all the same.
   */
  shorten(journal: KeptJournal<R>): void {
    if (journal.bytes <= Math.max(REWRITE_BYTES, this.#shortenedBytes * 1.5)) return;
    try {
      journal.rewrite([...this.#ended.values(), ...this.#open.values()].flatMap(({ records }) => records));
    } catch {
      // The volume is full, and the next append may say so.
    }
    this.#shortenedBytes = journal.bytes;
  }

  #end(turn: string, kept: KeptTurn<R>): void {
    this.#open.delete(turn);
    this.#openBytes -= kept.bytes;
    this.#ended.set(turn, kept);
    this.#endedBytes += kept.bytes;
    for (const [oldest, { bytes }] of this.#ended) {
      if (this.#ended.size <= MAX_TURNS && this.#endedBytes <= MAX_BYTES) return;
      this.#ended.delete(oldest);
      this.#endedBytes -= bytes;
    }
  }
}
