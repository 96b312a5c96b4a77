import { hash } from "node:crypto";
import { DomainError } from "../../base/errors.ts";
import { Journal } from "../../eventlog/journal.ts";
import type { PastTurn } from "../tools/half-agent.ts";
import { KeptTurns } from "../tools/kept-turns.ts";
import { type FrontRecord, parseFrontRecord } from "./front-records.ts";

/** The most turns of a thread that are remembered, and the most characters of their texts. */
const MAX_HISTORY = 50;
const MAX_HISTORY_CHARS = 256 * 1024;
/** The most crossings that are remembered: more than can arrive in the minute for which a token is valid. */
const MAX_CROSSINGS = 10_000;

/** The turn of a crossing, and the SHA-256 of its text, in hex. */
export interface KnownCrossing {
  readonly turn: string;
  readonly sha256: string;
}

/** The front's journal and the state read from it at the start. It has one writer, which holds the front's lock. */
export class FrontJournal {
  readonly #journal: Journal<FrontRecord>;
  readonly #turns = new KeptTurns<FrontRecord>(({ type }) => type === "say");
  readonly #histories = new Map<string, History>();
  readonly #crossings = new Map<string, KnownCrossing>();
  /** Lines that were damaged or torn. */
  readonly damaged: number;

  /** @throws DomainError `unavailable` if the journal cannot be opened: no turn may run without a record */
  constructor(path: string) {
    try {
      const take = (record: FrontRecord) => this.#take(record);
      const opened = Journal.open<FrontRecord>(path, { parse: parseFrontRecord, take });
      this.#journal = opened.journal;
      this.damaged = opened.damaged + (opened.isTorn ? 1 : 0);
    } catch (cause) {
      throw unwritable(cause);
    }
  }

  /** @throws DomainError `unavailable` (`reason` is `internal error`); then the step must not happen */
  append(record: FrontRecord): void {
    try {
      const before = this.#journal.bytes;
      this.#journal.append(record);
      this.#take(record, this.#journal.bytes - before);
    } catch (cause) {
      throw unwritable(cause);
    }
    this.#turns.shorten(this.#journal);
  }

  /** Bytes of the records of turns that have not ended. */
  get openBytes(): number {
    return this.#turns.openBytes;
  }

  historyOf(thread: string): readonly PastTurn[] {
    return this.#histories.get(thread)?.turns ?? [];
  }

  /** The threads, the most recently used one last; `isBriefed` is true if a briefing of the thread is remembered. */
  get threads(): Iterable<readonly [thread: string, isBriefed: boolean]> {
    return [...this.#histories].map(([thread, { turns }]) => [thread, turns.some(({ isBriefing }) => isBriefing)]);
  }

  crossing(id: string): KnownCrossing | undefined {
    return this.#crossings.get(id);
  }

  /**
   * The answer to a turn, or the reason why there is none; both empty if the turn is no longer kept. Undefined while
   * the turn is running.
   */
  endOf(turn: string): { readonly answer: string; readonly reason: string } | undefined {
    const records = this.#turns.of(turn);
    if (records === undefined) return { answer: "", reason: "" }; // the turn ended long ago
    const end = records.at(-1);
    if (end?.type !== "end") return undefined;
    const answer = records.find(({ type }) => type === "answer");
    return { answer: answer?.type === "answer" ? answer.text : "", reason: end.reason ?? "" };
  }

  /** Ends the turns that a killed process left open. */
  endOpenTurns(): void {
    for (const turn of this.#turns.open)
      this.append({ type: "end", turn, outcome: "interrupted", reason: "interrupted" });
  }

  close(): void {
    this.#journal.close();
  }

  #take(record: FrontRecord, bytes?: number): void {
    const records = this.#turns.take(record, bytes);
    if (record.type === "crossing") {
      this.#crossings.set(record.id, { turn: record.turn, sha256: hash("sha256", record.admin_input, "hex") });
      dropOldest(this.#crossings, MAX_CROSSINGS);
    }
    if (record.type === "forgotten") this.#histories.delete(record.thread);
    if (record.type === "end") this.#remember(records);
  }

  #remember(records: readonly FrontRecord[]): void {
    const [first] = records;
    if (first?.type !== "say" && first?.type !== "crossing") return;
    const isBriefing = first.type === "crossing";
    const found = records.find(({ type }) => type === "answer");
    const answer = found?.type === "answer" ? found.text : "";
    const input = first.type === "crossing" ? first.admin_input : first.user_input;
    const history = this.#histories.get(first.thread) ?? { turns: [], chars: 0 };
    // A briefing counts even if its turn failed; a user's question without an answer does not.
    if (isBriefing || answer !== "") remember(history, { input, isBriefing, answer });
    this.#histories.delete(first.thread);
    this.#histories.set(first.thread, history);
  }
}

interface History {
  readonly turns: PastTurn[];
  chars: number;
}

const charsOf = ({ input, answer }: PastTurn) => input.length + answer.length;

/** Users' turns are forgotten before briefings, so that no number of questions displaces a briefing. */
function remember(history: History, turn: PastTurn): void {
  const { turns } = history;
  turns.push(turn);
  history.chars += charsOf(turn);
  while (turns.length > 1 && (turns.length > MAX_HISTORY || history.chars > MAX_HISTORY_CHARS)) {
    const oldest = turns.findIndex(({ isBriefing }) => !isBriefing);
    const [dropped] = turns.splice(Math.max(oldest, 0), 1);
    history.chars -= dropped === undefined ? 0 : charsOf(dropped);
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  const oldest = map.size > most ? map.keys().next().value : undefined;
  if (oldest !== undefined) map.delete(oldest);
}

function unwritable(cause: unknown): DomainError {
  return new DomainError("unavailable", "internal error", { fields: { reason: "internal error" }, cause });
}
