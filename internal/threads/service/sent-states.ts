import { hash } from "node:crypto";

const MOST_ENDED = 1000;

/**
 * Remembers which state of each item was sent last, so that no state is sent twice in a row. Keeps all open items, and
 * the last 1,000 that have ended.
 */
export class SentStates {
  readonly #open = new Map<string, string>();
  readonly #ended = new Map<string, string>();

  /** The ids of the items that were open in the state that was sent last. */
  get open(): readonly string[] {
    return [...this.#open.keys()];
  }

  has(id: string): boolean {
    return this.#open.has(id) || this.#ended.has(id);
  }

  /** Whether `state` was sent last. */
  isLastSent(id: string, state: object): boolean {
    return (this.#open.get(id) ?? this.#ended.get(id)) === hashOf(state);
  }

  /** Whether `state` differs from the one that was sent last. If so, records it as sent. */
  recordIfChanged(id: string, state: object, isOpen = true): boolean {
    if (this.isLastSent(id, state)) return false;
    this.#open.delete(id);
    this.#ended.delete(id);
    (isOpen ? this.#open : this.#ended).set(id, hashOf(state));
    for (const [oldest] of this.#ended) {
      if (this.#ended.size <= MOST_ENDED) break;
      this.#ended.delete(oldest);
    }
    return true;
  }
}

function hashOf(state: object): string {
  return hash("sha256", JSON.stringify(state), "base64");
}
