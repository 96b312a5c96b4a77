import { Hands } from "../hands.ts";
import type { Handwork } from "./truth.ts";

/** Hands that record the times of their work on the terminal. */
export class DiaryHands extends Hands {
  readonly #diary: { from: number; to: number; interruptedAt?: number }[] = [];

  get diary(): readonly Handwork[] {
    return this.#diary;
  }

  /** Records the time of `work` as an action of this person. */
  async busy<T>(work: () => Promise<T>): Promise<T> {
    const entry = { from: Date.now(), to: Number.POSITIVE_INFINITY };
    this.#diary.push(entry);
    try {
      return await work();
    } finally {
      entry.to = Date.now();
    }
  }

  /** Interrupts the agent. */
  async interrupt(): Promise<void> {
    const at = Date.now();
    await this.keys("Escape");
    this.#diary.push({ from: at, to: at, interruptedAt: at });
  }
}
