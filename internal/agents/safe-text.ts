import type { SafeText } from "./profile.ts";

/**
 * Escape sequences: CSI, the string kinds (OSC, DCS, SOS, PM, APC) when they are ended, and the short ones. A string
 * kind that is never ended loses its introducer only, so that it cannot swallow the rest of the message.
 */
const ESCAPES =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]|\x1b/g;
/** C0 without LF, and DEL and C1. */
const CONTROLS = /[\x00-\x09\x0b-\x1f\x7f-\x9f]/g;

/**
 * The prefix of a message whose first character an agent would take for a command; documented, and not part of the
 * text.
 */
export const INERT_PREFIX = "[nudge] ";

/**
 * Cleans a message so that it may be typed into any agent: NFC, CRLF and CR → LF, tab → 4 spaces, escape sequences,
 * other C0 characters, DEL and C1 removed, trailing white space cut. Unsafe if it contains half of a surrogate pair or
 * if nothing is left.
 */
export function normalise(message: string): SafeText {
  if (!message.isWellFormed()) return { type: "unsafe", reason: "the message contains half of a surrogate pair" };
  const text = cleaned(message);
  return text.trim() === ""
    ? { type: "unsafe", reason: "the message is empty after cleaning" }
    : { type: "safe", text };
}

function cleaned(message: string): string {
  return message
    .replace(ESCAPES, "")
    .replace(/\r\n?/g, "\n")
    .replaceAll("\t", "    ")
    .replace(CONTROLS, "")
    .normalize("NFC")
    .trimEnd();
}

/**
 * A text in the form in which sent and received texts are compared: cleaned as above, without `INERT_PREFIX` and
 * without the space that `defuse` puts into reminder tags.
 */
export function comparable(text: string): string {
  const clean = cleaned(text.toWellFormed());
  const bare = clean.startsWith(INERT_PREFIX) ? clean.slice(INERT_PREFIX.length) : clean;
  return bare.replace(/< (?=\/?system-reminder)/gi, "<");
}

/** Only letters and digits, NFC: borders, wraps, folding and widths of a screen do not change it. */
export function lettersAndDigits(text: string): string {
  return text.normalize("NFC").replace(/[^\p{L}\p{N}]/gu, "");
}
