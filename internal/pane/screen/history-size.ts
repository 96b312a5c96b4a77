import { withTimeout } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";

/** A pane's history in tmux. */
export interface PaneHistory {
  facts(): Promise<{ readonly historySize: number }>;
}

/** The part of the history that the emulator holds. */
interface HeldHistory {
  readonly historyLines: number;
  /** The most lines that the emulator can hold. */
  readonly cap: number;
}

/** One answer serves all requests within this time. */
const CACHE_MS = 250;
/** tmux answers in some milliseconds, unless it is stopped or starved. */
const ANSWER_MS = 250;

/**
 * The number of lines that have scrolled off the screen, as tmux counts them. The emulator knows the number until its
 * own history is full.
 */
export class HistorySize {
  readonly #clock: Clock;
  #asked: { readonly at: number; readonly lines: Promise<number | undefined> } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the emulator's own count if tmux is away or does not answer within 250 ms. */
  async lines({ historyLines, cap }: HeldHistory, pane: PaneHistory | undefined): Promise<number> {
    if (historyLines < cap || pane === undefined) return historyLines;
    const now = this.#clock.monotonicMs();
    if (this.#asked === undefined || now - this.#asked.at > CACHE_MS) {
      this.#asked = { at: now, lines: this.#ask(pane) };
    }
    return (await this.#asked.lines) ?? historyLines;
  }

  async #ask(pane: PaneHistory): Promise<number | undefined> {
    const answer = pane.facts().then(({ historySize }) => historySize);
    return await withTimeout(this.#clock, ANSWER_MS, "tmux's answer", answer).catch(() => undefined);
  }
}
