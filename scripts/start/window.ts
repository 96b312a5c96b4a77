import { writeSync } from "node:fs";
import { terminalSize } from "../../internal/cli/terminal-size.ts";

const STDOUT = 1;
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE = "\x1b[0m\x1b[?25h\x1b[?1049l";
/** Synchronised output: a terminal that supports it shows the whole frame at once, others ignore the sequences. */
const FRAME = ["\x1b[?2026h", "\x1b[?2026l"] as const;

/** The events that report a lost terminal if no signal does. */
const ENDS = ["end", "close", "error"] as const;

type Input = Pick<NodeJS.ReadStream, "on" | "off" | "setRawMode" | "resume" | "pause">;
type Screen = Pick<NodeJS.WriteStream, "on" | "off" | "write" | "columns" | "rows">;

/**
 * The person's terminal while it shows the live view. The terminal is restored when this is disposed of or the process
 * exits.
 */
export class Window implements Disposable {
  readonly #input: Input;
  readonly #screen: Screen;
  readonly #onData: (bytes: Uint8Array) => void;
  readonly #onResize: () => void;
  readonly #onEnd: () => void;
  #shown: readonly string[] = [];
  #restored = false;

  constructor(input: Input, screen: Screen, on: { readonly quit: () => void; readonly resize: () => void }) {
    this.#input = input;
    this.#screen = screen;
    this.#onData = (bytes) => {
      // Keys that quit: q, Ctrl-C, Ctrl-D and a lone Escape, but not the sequence of an arrow key.
      if (/^\x1b$|[qQ\x03\x04]/.test(Buffer.from(bytes).toString("latin1"))) on.quit();
    };
    this.#onResize = () => {
      this.#shown = [];
      screen.write("\x1b[2J");
      on.resize();
    };
    this.#onEnd = () => on.quit();
    process.once("exit", this.#restore);
    input.setRawMode(true);
    input.on("data", this.#onData);
    for (const end of ENDS) input.on(end, this.#onEnd);
    input.resume();
    screen.on("resize", this.#onResize);
    screen.write(ENTER);
  }

  get columns(): number {
    return terminalSize(this.#screen).columns;
  }

  get rows(): number {
    return terminalSize(this.#screen).rows;
  }

  /** Draws lines from the top; unchanged rows are left alone. */
  draw(lines: readonly string[]): void {
    const height = Math.max(lines.length, this.#shown.length);
    let out = "";
    for (let row = 0; row < height; row++) {
      const line = lines[row] ?? "";
      if (this.#shown[row] !== line) out += `\x1b[${row + 1};1H\x1b[2K${line}\x1b[0m`;
    }
    this.#shown = lines;
    if (out !== "") this.#screen.write(`${FRAME[0]}${out}${FRAME[1]}`);
  }

  [Symbol.dispose](): void {
    process.off("exit", this.#restore);
    this.#input.off("data", this.#onData);
    // The `error` listener stays: a late error without a listener would end the process.
    for (const end of ["end", "close"] as const) this.#input.off(end, this.#onEnd);
    this.#screen.off("resize", this.#onResize);
    this.#input.pause();
    this.#restore();
  }

  readonly #restore = (): void => {
    if (this.#restored) return;
    this.#restored = true;
    try {
      this.#input.setRawMode(false);
      writeSync(STDOUT, LEAVE);
    } catch {
      // The terminal is gone: there is nothing to restore.
    }
  };
}
