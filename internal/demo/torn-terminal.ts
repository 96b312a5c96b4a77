import { nextRandom } from "./model.ts";
import type { Terminal } from "./terminal.ts";

/**
 * A terminal on which every drawing stays half-done for a while, as that of a program that loses its core in the middle
 * of a write. The process does nothing else meanwhile. Where it is cut is another place each time, the same ones for
 * the same seed.
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
