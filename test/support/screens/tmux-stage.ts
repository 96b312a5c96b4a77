import { constants, openSync } from "node:fs";
import { ReadStream, WriteStream } from "node:tty";
import type { PaneCut } from "../../../internal/tmux/pane/pane.ts";
import { eventually } from "../eventually.ts";
import { capturedCells } from "./captured-cells.ts";
import { type TmuxSandbox, tmuxSandbox } from "./tmux-sandbox.ts";

/** Ends any open sequence, in any terminal. */
const CLOSE = "\x18\x1b\\";
/** The main screen in its initial state, without history. */
const RESET = `${CLOSE}\x1b[?1049l\x1bc\x1b[3J`;
/** A query that tmux answers once it has processed everything before it, and the end of its answer. */
const ASK = `${CLOSE}\x1b[c`;
const ANSWER_END = "c";
const ANSWER_MS = 30_000;
const HISTORY = 1000;

/** A real tmux pane that shows its input, byte for byte, and reports the resulting screen. */
export class TmuxStage implements AsyncDisposable {
  readonly #box: TmuxSandbox;
  readonly #output: WriteStream;
  readonly #answers: ReadStream;

  readonly #size: { readonly cols: number; readonly rows: number };

  private constructor(box: TmuxSandbox, tty: string, cols: number, rows: number) {
    this.#box = box;
    this.#size = { cols, rows };
    const open = () => openSync(tty, constants.O_RDWR | constants.O_NOCTTY);
    this.#output = new WriteStream(open());
    this.#answers = new ReadStream(open());
  }

  static async open(cols: number, rows: number): Promise<TmuxStage> {
    // Only the stage reads the terminal, where it receives tmux's answers.
    const argv = ["sh", "-c", "stty raw -echo; printf '\\033]2;ready\\007'; exec sleep infinity"] as const;
    const box = await tmuxSandbox({ argv, cols, rows, timeoutMs: ANSWER_MS });
    const ask = (format: string) => box.client.command(`display-message -p -t ${box.pane.id} "${format}"`);
    await eventually("a raw terminal", async () => (await ask("#{pane_title}"))[0] === "ready");
    const [tty = ""] = await ask("#{pane_tty}");
    return new TmuxStage(box, tty, cols, rows);
  }

  /** The pane once it has processed `bytes` after a reset; the bytes must not contain a query. */
  async show(bytes: Uint8Array | string): Promise<PaneCut> {
    this.#output.write(RESET);
    await this.#print(bytes);
    return await this.#box.pane.cut(0);
  }

  /**
   * The cells of the rows that were shown last, each row by itself, without the last column. tmux's captures end with
   * the last character of a row, whatever the colour of the erased cells after it; therefore a character is printed at
   * each end.
   */
  async cells(): Promise<readonly string[]> {
    const { cols, rows } = this.#size;
    const marks = Array.from({ length: rows }, (_, y) => `\x1b[${y + 1};${cols}H|`).join("");
    await this.#print(`\x1b[?6l\x1b[4l\x1b[r\x1b[0m\x0f\x1b(B${marks}`);
    const text = await this.#box.pane.capture({ escapes: true, join: false });
    return capturedCells(text).map((row) => row.replace(/\|$/, ""));
  }

  /** The text of the history's rows and of the screen's, each row by itself. */
  async history(): Promise<readonly string[]> {
    const text = await this.#box.pane.capture({ start: -HISTORY, escapes: true, join: false });
    return capturedCells(text, "blank").map((row) => row.replaceAll(/\{[^}]*\}/g, "").trimEnd());
  }

  async #print(bytes: Uint8Array | string): Promise<void> {
    const answered = this.#answered();
    this.#output.write(bytes);
    this.#output.write(ASK);
    await answered;
  }

  #answered(): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error("tmux did not answer")), ANSWER_MS);
      const take = (chunk: Buffer) => {
        if (!chunk.toString("latin1").endsWith(ANSWER_END)) return;
        clearTimeout(late);
        this.#answers.off("data", take);
        resolve();
      };
      this.#answers.on("data", take);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#output.destroy();
    this.#answers.destroy();
    await this.#box[Symbol.asyncDispose]();
  }
}

/**
 * The parts of two panes that are compared: cells of the rows, wraps, cursor, modes, the screen behind an alternate
 * one. With `erased: "blank"` a colour under cells at the end of a row does not count.
 */
export function comparablePane({ text, facts, modes, main }: PaneCut, erased: "coloured" | "blank" = "coloured") {
  const { alternate, cursorX, cursorY } = facts;
  const { savedX, savedY, ...others } = modes;
  const saved = alternate ? { savedX, savedY } : {};
  return {
    rows: capturedCells(text, erased),
    behind: main === undefined ? [] : capturedCells(main.screen, erased),
    facts: { alternate, cursorX, cursorY, ...saved, ...others },
  };
}
