import { nextRandom } from "./model.ts";
import type { Terminal } from "./terminal.ts";

/**
 * A terminal on which every drawing stays half-done for a while, as if the program lost its processor in the middle of
 * a write. The process does nothing else meanwhile. Each drawing is cut at another place; the same seed gives the same
 * places.
 */
export class TornTerminal implements Terminal {
  readonly #whole: Terminal;
  readonly #chance: { readonly s: { random: number } };
  readonly #pause: () => void;

  /** `pause` blocks. */
  constructor(whole: Terminal, seed: number, pause: () => void) {
    this.#whole = whole;
    this.#chance = { s: { random: seed >>> 0 } };
    this.#pause = pause;
  }

  get cols(): number {
    return this.#whole.cols;
  }

  get rows(): number {
    return this.#whole.rows;
  }

  write(text: string): void {
    if (text.length < 2) {
      this.#whole.write(text);
      return;
    }
    const at = 1 + Math.floor(nextRandom(this.#chance) * (text.length - 1));
    this.#whole.write(text.slice(0, at));
    this.#pause();
    this.#whole.write(text.slice(at));
  }

  open(on: Parameters<Terminal["open"]>[0]): void {
    this.#whole.open(on);
  }

  freeze(): void {
    this.#whole.freeze();
  }

  close(): void {
    this.#whole.close();
  }
}
