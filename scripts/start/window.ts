import { FullScreen, type TerminalHost } from "../../internal/cli/full-screen.ts";
import { terminalSize } from "../../internal/cli/terminal-size.ts";

const STDOUT = 1;
const MODES = { enter: "\x1b[?1049h\x1b[?25l\x1b[2J", leave: "\x1b[0m\x1b[?25h\x1b[?1049l" };
/** Synchronised output: a terminal that supports it shows the whole frame at once, others ignore the sequences. */
const FRAME = ["\x1b[?2026h", "\x1b[?2026l"] as const;

/** The events that report a lost terminal if no signal does. */
const ENDS = ["end", "close", "error"] as const;

type Input = Pick<NodeJS.ReadStream, "on" | "off" | "setRawMode" | "resume" | "pause">;
type Screen = Pick<NodeJS.WriteStream, "on" | "off" | "write" | "columns" | "rows">;

export interface WindowEvents {
  readonly quit: () => void;
  /** The terminal is blank, or has another size: draw again. */
  readonly redraw: () => void;
}

/**
 * The person's terminal while it shows the live view. The terminal is restored when this is disposed of, when the
 * process exits, and while it is stopped.
 */
export class Window implements Disposable {
  readonly #input: Input;
  readonly #screen: Screen;
  readonly #terminal: FullScreen;
  readonly #onData: (bytes: Uint8Array) => void;
  readonly #onResize: () => void;
  readonly #onEnd: () => void;
  #isOurs = false;
  #shown: readonly string[] = [];

  /** `outputFd`: the descriptor of `screen`. */
  constructor(input: Input, screen: Screen, on: WindowEvents, outputFd = STDOUT, host?: TerminalHost) {
    this.#input = input;
    this.#screen = screen;
    this.#onData = (bytes) => {
      // Keys that quit: q, Ctrl-C, Ctrl-D and a lone Escape, but not the sequence of an arrow key.
      if (/^\x1b$|[qQ\x03\x04]/.test(Buffer.from(bytes).toString("latin1"))) on.quit();
    };
    this.#onResize = () => {
      if (!this.#isOurs) return;
      this.#shown = [];
      screen.write("\x1b[2J");
      on.redraw();
    };
    this.#onEnd = () => on.quit();
    input.on("data", this.#onData);
    for (const end of ENDS) input.on(end, this.#onEnd);
    const hooks = {
      onAway: () => {
        this.#isOurs = false;
      },
      onBack: () => {
        this.#isOurs = true;
        this.#shown = [];
        on.redraw();
      },
    };
    this.#terminal = new FullScreen({ stdin: input, outputFd }, MODES, hooks, host);
    input.resume();
    screen.on("resize", this.#onResize);
  }

  get columns(): number {
    return terminalSize(this.#screen).columns;
  }

  get rows(): number {
    return terminalSize(this.#screen).rows;
  }

  /** Draws lines from the top; unchanged rows are left alone. Draws nothing while the process is stopped. */
  draw(lines: readonly string[]): void {
    if (!this.#isOurs) return;
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
    this.#input.off("data", this.#onData);
    // The `error` listener stays: a late error without a listener would end the process.
    for (const end of ["end", "close"] as const) this.#input.off(end, this.#onEnd);
    this.#screen.off("resize", this.#onResize);
    this.#terminal[Symbol.dispose]();
  }
}
