import { DomainError } from "../../base/errors.ts";

const SPECIAL = /["\\$~\x00-\x1f\x7f]/g;
const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e" };

/**
 * `text` as one argument of a tmux command line or configuration line; the result has no line break. tmux expands
 * nothing in it, but commands that take a *format* still do: see `formatLiteral`.
 * @throws DomainError `invalid` for NUL, which tmux cannot carry.
 */
export function quoteArgument(text: string): string {
  refuseNul(text);
  return `"${text.replace(SPECIAL, escapeOne)}"`;
}

function escapeOne(char: string): string {
  if (char === '"' || char === "\\" || char === "$" || char === "~") return `\\${char}`;
  return NAMED[char] ?? `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`;
}

/**
 * `text` as one word of a POSIX shell command.
 * @throws DomainError `invalid` for NUL.
 */
export function quoteShell(text: string): string {
  refuseNul(text);
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * `text` inside a tmux format, so that it expands to itself. `time` is for arguments that tmux also gives to strftime
 * (pipe-pane, display-message).
 * @throws DomainError `invalid` for `#[`, which cannot be escaped in any release of tmux.
 */
export function formatLiteral(text: string, options: { readonly time?: boolean } = {}): string {
  if (text.includes("#["))
    throw new DomainError("invalid", `cannot give ${JSON.stringify(text)} to tmux: it contains "#["`);
  const escaped = text.replaceAll("#", "##");
  return options.time ? escaped.replaceAll("%", "%%") : escaped;
}

function refuseNul(text: string): void {
  if (text.includes("\0")) throw new DomainError("invalid", "cannot give text with a NUL byte to tmux");
}
