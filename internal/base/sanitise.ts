/** Escape sequences: CSI, OSC/DCS/SOS/PM/APC up to their terminator, and the two- and three-byte ones. */
const ESCAPES =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[\s\S]*?(?:\x07|\x1b\\|\x9c|$)|\x1b[ -/]*[0-~]|\x1b/g;
const SGR = /^\x1b\[[0-9;:]*m$/;
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
/** Bidirectional overrides and isolates: they can make text read as something else. */
const BIDI = /[\u202a-\u202e\u2066-\u2069]/g;
/** Any character of the above: most texts have none. */
const SUSPECT = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

/**
 * Text from a terminal, an agent or the network, made safe to print: escape sequences, C0 (except TAB and LF), DEL, C1
 * and bidirectional overrides are removed.
 */
export function plainText(text: string): string {
  if (!SUSPECT.test(text)) return text;
  return text.replace(ESCAPES, "").replace(CONTROLS, "").replace(BIDI, "");
}

/** `plainText` on one line: a space for each line feed. */
export function oneLine(text: string): string {
  return plainText(text).replaceAll("\n", " ");
}

/** `plainText` on one line, with one space for each run of white space and none at its ends. */
export function foldedLine(text: string): string {
  return plainText(text).replaceAll(/\s+/g, " ").trim();
}

/** Like `plainText`, but styling (SGR, `ESC[…m`) stays; ends with a reset if any styling is left. */
export function styledText(text: string): string {
  let styled = false;
  let out = "";
  let last = 0;
  for (const match of text.matchAll(ESCAPES)) {
    out += plainText(text.slice(last, match.index));
    if (SGR.test(match[0])) {
      out += match[0];
      styled = true;
    }
    last = match.index + match[0].length;
  }
  out += plainText(text.slice(last));
  return styled && !out.endsWith("\x1b[0m") ? `${out}\x1b[0m` : out;
}
