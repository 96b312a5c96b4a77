import { Unicode11Addon } from "@xterm/addon-unicode11";
import type { IUnicodeVersionProvider, Terminal } from "@xterm/headless";

const ZERO_WIDTH_JOINER = 0x200d;
/** The emulator packs its facts about a character into a number: state, width and whether it joins the previous one. */
const JOINS = 1;
const JOINER_SEEN = 1 << 3;

export const TMUX_WIDTHS = "tmux";

/**
 * Character widths as tmux counts them: Unicode 11, and whatever follows a zero width joiner goes into the same cell.
 * A program that places text by columns leaves stale characters on an emulator that counts differently.
 */
export class TmuxWidths implements IUnicodeVersionProvider {
  readonly version = TMUX_WIDTHS;
  readonly #base: IUnicodeVersionProvider;

  constructor() {
    const registered: IUnicodeVersionProvider[] = [];
    const unicode = { register: (provider: IUnicodeVersionProvider) => registered.push(provider) };
    new Unicode11Addon().activate({ unicode } as unknown as Terminal); // only the add-on provides the tables
    const [base] = registered;
    if (base === undefined) throw new Error("the Unicode 11 add-on registered no widths");
    this.#base = base;
  }

  wcwidth(codepoint: number): 0 | 1 | 2 {
    return this.#base.wcwidth(codepoint);
  }

  charProperties(codepoint: number, preceding: number): number {
    const width = (preceding >> 1) & 3;
    if (width > 0 && (preceding & JOINER_SEEN) !== 0) return (width << 1) | JOINS | joinerBit(codepoint);
    return this.#base.charProperties(codepoint, preceding & ~JOINER_SEEN) | joinerBit(codepoint);
  }
}

function joinerBit(codepoint: number): number {
  return codepoint === ZERO_WIDTH_JOINER ? JOINER_SEEN : 0;
}
