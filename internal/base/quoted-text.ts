/**
 * What JSON leaves as it is and a terminal or an editor may obey: DEL, C1 controls, bidirectional and line separators.
 */
const UNSAFE_IN_JSON = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
/** Longer texts of strangers are cut. */
const MAX_SHOWN = 256;
/** Letters that stand for themselves. No comma: a list of such texts has as many members as it seems to. */
const PLAIN = /^[\x20-\x2b\x2d-\x7e]+$/;

/** JSON whose texts a terminal only shows: what it would obey is written as `\uXXXX`, so nothing is lost. */
export function inertJson(json: string): string {
  return json.replace(UNSAFE_IN_JSON, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A stranger's text in quotes on one line, cut after 256 characters. */
export function quotedText(text: string): string {
  const cut = text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
  return inertJson(JSON.stringify(cut));
}

/** The same without quotes where it needs none. */
export function shownText(text: string): string {
  return text.length <= MAX_SHOWN && PLAIN.test(text) ? text : quotedText(text);
}
