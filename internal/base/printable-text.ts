import { inertJson } from "./quoted-text.ts";
import { plainText, styledText } from "./sanitise.ts";

/**
 * Text that is safe to print on a terminal: its only control characters are TAB and LF, and its only escape sequences
 * are styling (SGR), ours or that kept by `styled`. Only this module creates instances, so code that passes a string
 * that was not cleaned does not compile.
 */
export class PrintableText {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }

  /** Plain text of one or more lines, cleaned. */
  static plain(text: string): PrintableText {
    return new PrintableText(plainText(text));
  }

  /** Like `plain`, but keeps styling (SGR), which ends with the text. */
  static styled(text: string): PrintableText {
    return new PrintableText(styledText(text));
  }

  /** `text` in the style of an SGR parameter such as `1` or `31`. */
  static inStyle(parameter: number, text: string | PrintableText): PrintableText {
    return new PrintableText(`\x1b[${parameter}m${onOneLine(text)}\x1b[0m`);
  }

  static lines(lines: readonly PrintableText[]): PrintableText {
    return new PrintableText(lines.join("\n"));
  }

  /**
   * JSON on one line. Characters that a terminal would obey are written as `\uXXXX`, so nothing is lost. Big integers
   * become numbers.
   */
  static json(value: unknown): PrintableText {
    const text = JSON.stringify(value, (_, part) => (typeof part === "bigint" ? Number(part) : part));
    return new PrintableText(inertJson(text));
  }

  /** Fills a template: its own parts are kept, and the strings put into it are cleaned and put on one line. */
  static template(parts: TemplateStringsArray, values: readonly (string | number | PrintableText)[]): PrintableText {
    return new PrintableText(parts.reduce((text, part, i) => text + onOneLine(values[i - 1] ?? "") + part));
  }
}

/** Tag of a template: the strings put into it are cleaned and put on one line. */
export function printable(
  parts: TemplateStringsArray,
  ...values: readonly (string | number | PrintableText)[]
): PrintableText {
  return PrintableText.template(parts, values);
}

function onOneLine(value: string | number | PrintableText): string {
  return value instanceof PrintableText ? value.toString() : plainText(String(value)).replaceAll(/[\t\n]+/g, " ");
}
