import { hash } from "node:crypto";

const MOST_ENDED = 1000;

/**
 * What a caller was told of things that change, so that each state is told once. Of ended ones the last 1,000 are kept.
 */
export class Told {
  readonly #open = new Map<string, string>();
  readonly #ended = new Map<string, string>();

  /** Those that had not ended when they were told. */
  get open(): readonly string[] {
    return [...this.#open.keys()];
  }

  has(id: string): boolean {
    return this.#open.has(id) || this.#ended.has(id);
  }

  /** This state was told last. */
  isTold(id: string, state: object): boolean {
    return (this.#open.get(id) ?? this.#ended.get(id)) === hashOf(state);
  }

  /** Whether `state` is not what was told before; it counts as told from now on. */
  isNews(id: string, state: object, isOpen = true): boolean {
    if (this.isTold(id, state)) return false;
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
