import { DomainError } from "../../base/errors.ts";
import { Journal } from "../../eventlog/journal.ts";
import { systemReason } from "../../files/system-reason.ts";
import { KeptTurns } from "../tools/kept-turns.ts";
import { type BackRecord, parseBackRecord } from "./back-records.ts";

/** The most turns of a thread that are remembered. */
const MAX_HISTORY = 50;

interface Past {
  readonly input: string;
  readonly isBriefing: boolean;
  readonly answer: string;
}

/** An intended crossing without a receipt: it is going on or, after a start, a killed process left it open. */
export interface OpenCrossing {
  readonly turn: string;
  readonly id: string;
  readonly sha256: string;
}

/** The back's journal and the state read from it at the start. It has one writer, which holds the back's lock. */
export class BackJournal {
  readonly #journal: Journal<BackRecord>;
  readonly #histories = new Map<string, Past[]>();
  readonly #turns = new KeptTurns<BackRecord>();
  readonly #open = new Map<string, OpenCrossing>();
  /** Lines that were damaged or torn. */
  readonly damaged: number;

  /** @throws DomainError `unavailable` if the journal cannot be opened: no turn may run without a record */
  constructor(path: string) {
    try {
      const opened = Journal.open<BackRecord>(path, { parse: parseBackRecord, take: (record) => this.#take(record) });
      this.#journal = opened.journal;
      this.damaged = opened.damaged + (opened.isTorn ? 1 : 0);
    } catch (cause) {
      throw unwritable(cause);
    }
  }

  /** @throws DomainError `unavailable`; then the step must not happen */
  append(record: BackRecord): void {
    try {
      const before = this.#journal.bytes;
      this.#journal.append(record);
      this.#take(record, this.#journal.bytes - before);
    } catch (cause) {
      throw unwritable(cause);
    }
    this.#turns.shorten(this.#journal);
  }

  historyOf(thread: string): readonly Past[] {
    return this.#histories.get(thread) ?? [];
  }

  /** The threads, the most recently used one last. */
  get threads(): Iterable<string> {
    return this.#histories.keys();
  }

  get openCrossings(): readonly OpenCrossing[] {
    return [...this.#open.values()];
  }

  /** Turns without an end: those that are running or, after a start, those that a killed process left open. */
  get openTurns(): readonly string[] {
    return this.#turns.open;
  }

  close(): void {
    this.#journal.close();
  }

  #take(record: BackRecord, bytes?: number): void {
    const records = this.#turns.take(record, bytes);
    if (record.type === "intended") {
      const { turn, crossing, sha256 } = record;
      this.#open.set(crossing, { turn, id: crossing, sha256 });
    }
    if (record.type === "receipt") this.#open.delete(record.crossing);
    if (record.type === "forgotten") this.#histories.delete(record.thread);
    if (record.type === "end") this.#ended(records);
  }

  /** Keeps the question and answer of a turn that has ended, for the newest 50 turns of a thread. */
  #ended(records: readonly BackRecord[]): void {
    const [first] = records;
    if (first?.type !== "turn") return;
    const answer = records.find(({ type }) => type === "answer");
    const history = this.#histories.get(first.thread) ?? [];
    if (answer?.type === "answer") history.push({ input: first.input, isBriefing: false, answer: answer.text });
    if (history.length > MAX_HISTORY) history.shift();
    this.#histories.delete(first.thread);
    this.#histories.set(first.thread, history);
  }
}

function unwritable(cause: unknown): DomainError {
  const reason = systemReason(cause);
  return new DomainError("unavailable", `cannot write the journal of the administrator's side: ${reason}`, {
    fields: { reason: "journal", hint: "check the volume and the folder's mode; nothing was read and nothing crossed" },
    cause,
  });
}
