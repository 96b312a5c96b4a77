import { DomainError } from "../../base/errors.ts";
import { type IdLimits, idToForget, type KeptId, wasTyped } from "../../session/kept-ids.ts";
import { ownerOf } from "../../session/nudge-record.ts";
import { EndedTexts } from "./ended-texts.ts";
import type { Letter } from "./letter.ts";

/** Messages that wait; one more is refused. */
export const QUEUE_LIMIT = 50;
/** Of these, how many may be of one caller where callers can be told apart. */
const QUEUE_SHARE = 40;
/** Receipts are kept this long and this many. */
export const RECEIPT_KEEP_MS = 24 * 3_600_000;
export const RECEIPT_KEEP: IdLimits = { total: 10_000, ofOne: 8000 };

/** The messages that are remembered, by request id, within the limits for all and for each owner. */
export class LetterBook {
  /** In the order of acceptance. */
  readonly #letters = new Map<string, Letter>();
  /** Those that have not ended. */
  readonly #open = new Set<Letter>();
  /** How many ids of each owner are remembered. */
  readonly #owned = new Map<string, number>();
  readonly #texts = new EndedTexts();

  /** `now`: as `Letter.endedMs`. */
  get(requestId: string, now: number): Letter | undefined {
    const letter = this.#letters.get(requestId);
    const endedMs = letter?.endedMs;
    return endedMs !== undefined && now - endedMs >= RECEIPT_KEEP_MS ? undefined : letter;
  }

  all(): Iterable<Letter> {
    return this.#letters.values();
  }

  /** That have not ended. */
  open(): Iterable<Letter> {
    return this.#open;
  }

  /** Not yet typed: urgent ones first, else in the order of acceptance. */
  waiting(): Letter[] {
    const waiting = [...this.#open].filter((letter) => letter.phase === "waiting");
    const urgent = (letter: Letter) => letter.nudge.priority === "urgent";
    return [...waiting.filter(urgent), ...waiting.filter((letter) => !urgent(letter))];
  }

  add(letter: Letter): void {
    const { nudge, phase } = letter;
    this.#forget(nudge.requestId); // of a message that is too old
    const owner = ownerOf(nudge);
    this.#letters.set(nudge.requestId, letter);
    this.#owned.set(owner, (this.#owned.get(owner) ?? 0) + 1);
    if (phase !== "ended") this.#open.add(letter);
  }

  ended(letter: Letter): void {
    this.#open.delete(letter);
    this.#texts.ended(letter);
  }

  /**
   * Makes room for one more message of `owner`: forgets what is too old, and another id where there are too many. `now`: as
   * `Letter.endedMs`.
   * @throws DomainError `exhausted` when the queue is full, or the owner's share of it, or no id may be forgotten
   */
  makeRoom(owner: string, now: number): void {
    this.#checkQueue(owner);
    for (const [id, { phase, endedMs }] of this.#letters) {
      if (phase !== "ended") continue;
      if (now - (endedMs ?? now) < RECEIPT_KEEP_MS) break;
      this.#forget(id);
    }
    const isOverShare = owner !== "" && (this.#owned.get(owner) ?? 0) >= RECEIPT_KEEP.ofOne;
    if (!isOverShare && this.#letters.size < RECEIPT_KEEP.total) return;
    const forgotten = idToForget(this.#letters.values(), keptIdOf, owner, isOverShare);
    if (forgotten === undefined) throw new DomainError("exhausted", "too many request ids of others are remembered");
    this.#forget(forgotten.nudge.requestId);
  }

  #checkQueue(owner: string): void {
    const waiting = this.waiting();
    const full = (whose: string, limit: number) =>
      new DomainError("exhausted", `the queue holds ${limit} messages${whose} already`, { fields: { limit } });
    if (waiting.length >= QUEUE_LIMIT) throw full("", QUEUE_LIMIT);
    if (owner === "" || waiting.length < QUEUE_SHARE) return;
    const own = waiting.filter((letter) => ownerOf(letter.nudge) === owner);
    if (own.length >= QUEUE_SHARE) throw full(" of this caller", QUEUE_SHARE);
  }

  #forget(requestId: string): void {
    const letter = this.#letters.get(requestId);
    if (letter === undefined) return;
    const owner = ownerOf(letter.nudge);
    const left = (this.#owned.get(owner) ?? 0) - 1;
    if (left > 0) this.#owned.set(owner, left);
    else this.#owned.delete(owner);
    this.#letters.delete(requestId);
    this.#texts.forgotten(letter);
  }
}

function keptIdOf({ nudge, phase, receipt }: Letter): KeptId | undefined {
  if (phase !== "ended" || receipt === undefined) return undefined;
  return { owner: ownerOf(nudge), wasTyped: wasTyped(receipt.outcome) };
}
