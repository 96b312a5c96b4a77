import { plainText, styledText } from "../base/sanitise.ts";

type Env = Readonly<Record<string, string | undefined>>;
type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

const CODES: Readonly<Record<Style, string>> = {
  bold: "1",
  dim: "2",
  red: "31",
  green: "32",
  yellow: "33",
  cyan: "36",
};

/** The part of a stream that decides how to print: `process.stdout` and `process.stderr` fit. */
export interface Sink {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** True where a person looks at a terminal that shows colours: a tty, no `NO_COLOR`, not `TERM=dumb`. */
export function usesColour(sink: Sink, env: Env): boolean {
  return sink.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}

/** Prints for a person. Nothing that comes from outside goes out unfiltered. */
export class Output {
  readonly isTTY: boolean;
  readonly colour: boolean;
  readonly #sink: Sink;

  constructor(sink: Sink, env: Env) {
    this.#sink = sink;
    this.isTTY = sink.isTTY === true;
    this.colour = usesColour(sink, env);
  }

  /** Columns of the terminal; 80 where it does not say. */
  get columns(): number {
    return this.#sink.columns ?? 80;
  }

  /** Our own text, as it is, and a line feed. */
  line(text = ""): void {
    this.#sink.write(`${text}\n`);
  }

  /** Text from an agent or the network: escape sequences and control characters are removed. No line feed is added. */
  plain(text: string): void {
    this.#sink.write(plainText(text));
  }

  /** Like `plain`, but styling (SGR) stays. */
  styled(text: string): void {
    this.#sink.write(styledText(text));
  }

  /** `text` in a style, or as it is where there are no colours. Outside text goes through `plainText` first. */
  paint(style: Style, text: string): string {
    return this.colour ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;
  }
}
