import type { InputOutcome } from "../../bridge/provider.ts";

const MAX_IDS = 10_000;

/**
 * The outcome of each input, by its id, so that a repeated id gives the agent nothing twice. Forgets the oldest first.
 */
export class InputBook {
  readonly #outcomes = new Map<string, Promise<InputOutcome>>();

  /**
   * Returns the outcome of the first call with this id; only that call runs `give`. A refusal is not kept, so that the
   * id may be tried again.
   */
  once(requestId: string, give: () => Promise<InputOutcome>): Promise<InputOutcome> {
    const known = this.#outcomes.get(requestId);
    if (known !== undefined) return known;
    const outcome = give();
    this.#outcomes.set(requestId, outcome);
    outcome.catch(() => this.#outcomes.delete(requestId));
    const [oldest] = this.#outcomes.keys();
    if (this.#outcomes.size > MAX_IDS && oldest !== undefined) this.#outcomes.delete(oldest);
    return outcome;
  }
}
