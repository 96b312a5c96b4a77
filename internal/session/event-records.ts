import type { MachineTime, Moment } from "../base/machine-time.ts";
import type { Cursor, Subscriber } from "../eventlog/cursors.ts";
import type { SeqReservation } from "../eventlog/event-log.ts";

/**
 * The journal's records of the event log; the events themselves are in memory only. Numbers that may be large are text.
 */
export type EventRecord =
  /** Numbers up to `reservedTo` may have been handed out. */
  | { readonly type: "events"; readonly epoch: string; readonly reservedTo: string }
  /** A subscriber is done with all events up to `seq`, since `moment`. */
  | {
      readonly type: "cursor";
      readonly epoch: string;
      /** Absent in older journals, which means empty. */
      readonly owner?: string;
      readonly subscriber: string;
      readonly seq: string;
      /** Absent in older journals, which have a wall clock instead. */
      readonly moment?: Moment;
    }
  | ({ readonly type: "standing" } & StandingLines);

/** The lines that were reported last and may still be on the screen when a later process reads it. */
export interface StandingLines {
  /** Their hashes. */
  readonly lines: readonly number[];
  /** How many of the oldest ones had scrolled off the screen; a larger screen brings them back. Absent: none. */
  readonly above?: number | undefined;
  /** True if the text that was reported last continues in the next text to be reported. */
  readonly isOpen?: boolean | undefined;
}

/** A position as the journal keeps it. */
interface RestoredCursor extends Subscriber {
  readonly seq: bigint;
  readonly moment?: Moment | undefined;
}

/** The journal's records of the event log, by kind. */
export interface RestoredEvents {
  readonly reservation?: SeqReservation | undefined;
  readonly cursors: readonly RestoredCursor[];
  readonly standing: StandingLines;
}

/** More positions than a session keeps. */
const MAX_CURSORS = 8192;

/**
 * Folds the journal's records of the event log while they are read: keeps the last reservation, the last standing lines
 * and the last cursor of each subscriber.
 */
export class EventFold {
  readonly #cursors = new Map<string, EventRecord>();
  #reservation: EventRecord | undefined;
  #standing: EventRecord | undefined;

  take(record: EventRecord): void {
    if (record.type === "events") this.#reservation = record;
    else if (record.type === "standing") this.#standing = record;
    else this.#move(record);
  }

  /** The reservation comes first: positions count in its epoch only. */
  records(): readonly EventRecord[] {
    return [this.#reservation, this.#standing, ...this.#cursors.values()].filter((record) => record !== undefined);
  }

  #move(cursor: EventRecord & { readonly type: "cursor" }): void {
    const { owner = "", subscriber } = cursor;
    const key = JSON.stringify([owner, subscriber]);
    this.#cursors.delete(key);
    this.#cursors.set(key, cursor);
    const oldest = this.#cursors.size > MAX_CURSORS ? this.#cursors.keys().next() : undefined;
    if (oldest?.done === false) this.#cursors.delete(oldest.value);
  }
}

/** Later records win; positions in an epoch other than the last one are dropped. */
export function restoreEvents(records: readonly EventRecord[]): RestoredEvents {
  let reservation: SeqReservation | undefined;
  let standing: StandingLines = { lines: [] };
  const cursors = new Map<string, RestoredCursor & { readonly epoch: string }>();
  for (const record of records) {
    if (record.type === "events") reservation = { epoch: record.epoch, reservedTo: BigInt(record.reservedTo) };
    else if (record.type === "standing") {
      const { lines, above, isOpen } = record;
      standing = { lines, above, isOpen };
    } else {
      const { epoch, owner = "", subscriber, moment } = record;
      const position = { epoch, owner, subscriber, seq: BigInt(record.seq), moment };
      cursors.set(JSON.stringify([owner, subscriber]), position);
    }
  }
  const current = [...cursors.values()].filter(({ epoch }) => epoch === reservation?.epoch);
  return { reservation, cursors: current.map(({ epoch: _, ...cursor }) => cursor), standing };
}

export function reservationRecord({ epoch, reservedTo }: SeqReservation): EventRecord {
  return { type: "events", epoch, reservedTo: reservedTo.toString() };
}

export function cursorRecord(epoch: string, cursor: Cursor, time: MachineTime): EventRecord {
  const { owner, subscriber, seq, at } = cursor;
  return { type: "cursor", epoch, owner, subscriber, seq: seq.toString(), moment: time.momentOf(at) };
}
