import { PrintableText, printable } from "../base/printable-text.ts";
import { terminalSize } from "./terminal-size.ts";

type Env = Readonly<Record<string, string | undefined>>;
type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

const CODES: Readonly<Record<Style, number>> = {
  bold: 1,
  dim: 2,
  red: 31,
  green: 32,
  yellow: 33,
  cyan: 36,
};

/** The part of a stream that decides how to print: `process.stdout` and `process.stderr` fit. */
export interface Sink {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/**
 * True if the output is a terminal that shows colours: a tty, no `NO_COLOR`, not `TERM=dumb`.
 * @internal
 */
export function usesColour(sink: Sink, env: Env): boolean {
  return sink.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}

/**
 * Prints to a terminal, a pipe or a file. Everything passes the sanitiser: only the sanitiser creates `PrintableText`.
 */
export class Output {
  readonly isTTY: boolean;
  /** True for a terminal that can draw a line again: a tty that is not `TERM=dumb`, such as Emacs's shell. */
  readonly redraws: boolean;
  readonly colour: boolean;
  readonly #sink: Sink;

  constructor(sink: Sink, env: Env) {
    this.#sink = sink;
    this.isTTY = sink.isTTY === true;
    this.redraws = this.isTTY && env["TERM"] !== "dumb";
    this.colour = usesColour(sink, env);
  }

  /** Columns of the terminal; 80 if the number is not known. */
  get columns(): number {
    return terminalSize(this.#sink).columns;
  }

  /** The text and a line feed. */
  line(text: PrintableText = printable``): void {
    this.#sink.write(`${text}\n`);
  }

  /** Text from an agent or the network: escape sequences and control characters are removed. No line feed is added. */
  plain(text: string): void {
    this.#sink.write(PrintableText.plain(text).toString());
  }

  /** Like `plain`, but styling (SGR) stays. */
  styled(text: string): void {
    this.#sink.write(PrintableText.styled(text).toString());
  }

  /** `text` on one line in a style, or without it where there are no colours. */
  paint(style: Style, text: string | PrintableText): PrintableText {
    return this.colour ? PrintableText.inStyle(CODES[style], text) : printable`${text}`;
  }
}
