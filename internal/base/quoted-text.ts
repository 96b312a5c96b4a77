/**
 * Characters that JSON does not escape and that a terminal or an editor may obey: DEL, C1 controls, bidirectional and
 * line separators.
 */
const UNSAFE_IN_JSON = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
/** Longer texts from outside are cut. */
const MAX_SHOWN = 256;
/**
 * Characters that need no quotes. A comma does: a list of such texts must not seem to have more members than it has.
 */
const PLAIN = /^[\x20-\x2b\x2d-\x7e]+$/;

/** JSON that is safe to print: characters that a terminal would obey are written as `\uXXXX`, so nothing is lost. */
export function inertJson(json: string): string {
  return json.replace(UNSAFE_IN_JSON, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A text from outside in quotes on one line, cut after 256 characters. */
export function quotedText(text: string): string {
  const cut = text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
  return inertJson(JSON.stringify(cut));
}

/** Like `quotedText`, but without quotes if the text needs none. */
export function shownText(text: string): string {
  return text.length <= MAX_SHOWN && PLAIN.test(text) ? text : quotedText(text);
}
