import { defuseBy } from "../../agents/defuse.ts";
import type { SafeText } from "../../agents/profile.ts";
import { normalise } from "../../agents/safe-text.ts";

/** A message that begins with `/`, after any characters that a program may skip. */
export const SLASH_COMMAND = /^[\s\p{C}]*\//u;

/**
 * A message in the form in which an agent gets it over its standard streams: unchanged, except for text that the agent
 * would take as a command of its own or as the end of a reminder. Unsafe if `normalise` rejects the message, for
 * example one that consists of blanks and control characters only.
 * `command` matches at the start of a message that the agent would take as a command.
 */
export function harmlessText(message: string, command?: RegExp): SafeText {
  const clean = normalise(message);
  return clean.type === "unsafe" ? clean : defuseBy({ command }, message);
}
