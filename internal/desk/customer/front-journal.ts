import { hash } from "node:crypto";
import { DomainError } from "../../base/errors.ts";
import { Journal } from "../../eventlog/journal.ts";
import type { PastTurn } from "../tools/half-agent.ts";
import { type FrontRecord, parseFrontRecord } from "./front-records.ts";

/** Beyond this the journal begins again with what is still needed. */
const REWRITE_BYTES = 64 * 1024 * 1024;
/** Turns that are remembered: of a thread, and in a rewritten journal. */
const MAX_HISTORY = 50;
const MAX_TURNS = 500;
/** A token is good for a minute; more crossings than this are not made in it. */
const MAX_CROSSINGS = 10_000;

/** What is known of a crossing. */
export interface KnownCrossing {
  readonly turn: string;
  readonly sha256: string;
}

/** The front's journal, and what was learned from it at the start. One writer: the front's lock is held. */
export class FrontJournal {
  readonly #journal: Journal<FrontRecord>;
  readonly #turns = new Map<string, FrontRecord[]>();
  readonly #histories = new Map<string, PastTurn[]>();
  readonly #crossings = new Map<string, KnownCrossing>();
  /** Lines that were damaged or torn. */
  readonly damaged: number;

  /** @throws DomainError `unavailable`: nothing may be done without a record */
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

  /** @throws DomainError `unavailable` (`reason` is `internal error`): it must not happen then */
  append(record: FrontRecord): void {
    try {
      this.#journal.append(record);
      this.#take(record);
      if (this.#journal.bytes > REWRITE_BYTES) this.#journal.rewrite([...this.#turns.values()].flat());
    } catch (cause) {
      throw unwritable(cause);
    }
  }

  historyOf(thread: string): readonly PastTurn[] {
    return this.#histories.get(thread) ?? [];
  }

  get threads(): Iterable<string> {
    return this.#histories.keys();
  }

  crossing(id: string): KnownCrossing | undefined {
    return this.#crossings.get(id);
  }

  /** The answer to a turn, or why there is none; undefined while it runs. */
  endOf(turn: string): { readonly answer: string; readonly reason: string } | undefined {
    const records = this.#turns.get(turn);
    if (records === undefined) return { answer: "", reason: "" }; // it ended long ago
    const end = records.at(-1);
    if (end?.type !== "end") return undefined;
    const answer = records.find(({ type }) => type === "answer");
    return { answer: answer?.type === "answer" ? answer.text : "", reason: end.reason ?? "" };
  }

  /** Ends the turns that a killed process left open. */
  endOpenTurns(): void {
    for (const [turn, records] of this.#turns) {
      if (records.at(-1)?.type === "end") continue;
      this.append({ type: "end", turn, outcome: "interrupted", reason: "interrupted" });
    }
  }

  close(): void {
    this.#journal.close();
  }

  #take(record: FrontRecord): void {
    const records = this.#turns.get(record.turn) ?? [];
    records.push(record);
    this.#turns.set(record.turn, records);
    if (record.type === "crossing") {
      this.#crossings.set(record.id, { turn: record.turn, sha256: hash("sha256", record.admin_input, "hex") });
      dropOldest(this.#crossings, MAX_CROSSINGS);
    }
    if (record.type !== "end") return;
    this.#remember(records);
    dropOldest(this.#turns, MAX_TURNS);
  }

  #remember(records: readonly FrontRecord[]): void {
    const [first] = records;
    if (first?.type !== "say" && first?.type !== "crossing") return;
    const isBriefing = first.type === "crossing";
    const found = records.find(({ type }) => type === "answer");
    const answer = found?.type === "answer" ? found.text : "";
    const input = first.type === "crossing" ? first.admin_input : first.user_input;
    const history = this.#histories.get(first.thread) ?? [];
    // A briefing counts even if its turn failed; what a user asked in vain does not.
    if (isBriefing || answer !== "") history.push({ input, isBriefing, answer });
    if (history.length > MAX_HISTORY) history.splice(history[0]?.isBriefing ? 1 : 0, 1);
    this.#histories.set(first.thread, history);
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  const oldest = map.size > most ? map.keys().next().value : undefined;
  if (oldest !== undefined) map.delete(oldest);
}

function unwritable(cause: unknown): DomainError {
  return new DomainError("unavailable", "internal error", { fields: { reason: "internal error" }, cause });
}
