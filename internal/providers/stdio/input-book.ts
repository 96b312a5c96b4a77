import type { InputOutcome } from "../../bridge/provider.ts";

const MAX_IDS = 10_000;

/** What became of each input, by its id, so that the same id gives the agent nothing twice. The oldest go first. */
export class InputBook {
  readonly #outcomes = new Map<string, Promise<InputOutcome>>();

  /**
   * The outcome of the first call with this id; `give` runs in that one only. A refusal is not kept: it may be tried
   * again.
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
