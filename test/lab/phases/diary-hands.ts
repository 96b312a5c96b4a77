import { Hands } from "../hands.ts";
import type { Handwork } from "./truth.ts";

/** Hands that keep a diary of when they were on the terminal. */
export class DiaryHands extends Hands {
  readonly #diary: { from: number; to: number; interruptedAt?: number }[] = [];

  get diary(): readonly Handwork[] {
    return this.#diary;
  }

  /** Everything in `work` is this person's doing. */
  async busy<T>(work: () => Promise<T>): Promise<T> {
    const entry = { from: Date.now(), to: Number.POSITIVE_INFINITY };
    this.#diary.push(entry);
    try {
      return await work();
    } finally {
      entry.to = Date.now();
    }
  }

  /** Stops what the agent does. */
  async interrupt(): Promise<void> {
    const at = Date.now();
    await this.keys("Escape");
    this.#diary.push({ from: at, to: at, interruptedAt: at });
  }
}
