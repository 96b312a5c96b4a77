import { withoutInvisible } from "./invisible.ts";
import type { SafeText } from "./profile.ts";
import { INERT_PREFIX } from "./safe-text.ts";

/** Words that end a program if they are the whole message. */
export const LEAVING = /^\s*(?:exit|quit|bye|:q!?|:wq!?|:x)\s*$/i;

export interface DefuseRules {
  /** Matches at the start of a message that this agent would take as a command of its own. */
  readonly command?: RegExp | undefined;
  /** Matches a whole message that would end the program, such as `exit`. */
  readonly leaving?: RegExp;
  /** Matches at the end of a message where Enter would not submit; a space is appended. */
  readonly openEnd?: RegExp;
  /**
   * The agent drops white space at the start of a message, so it is removed before typing. The typed text then counts
   * as changed.
   */
  readonly cutsStart?: boolean;
  /**
   * The agent drops invisible characters, some of them only after a second Enter, so they are removed before typing.
   */
  readonly dropsInvisible?: boolean;
}

/**
 * Makes a normalised message harmless: puts `INERT_PREFIX` before a command and a space after an ending that would
 * change what Enter does, and respells reminder tags, whose content agents trust more than a user's text, so that they
 * are no longer tags. `comparable` ignores all three changes.
 */
export function defuseBy(rules: DefuseRules, message: string): SafeText {
  const tagged = message.replace(/<(?=\/?system-reminder)/gi, "< ");
  const seen = rules.dropsInvisible === true ? withoutInvisible(tagged).trimEnd() : tagged;
  if (seen.trim() === "") return { type: "unsafe", reason: "the message has only characters that this agent drops" };
  const kept = rules.cutsStart === true ? seen.trimStart() : seen;
  const acts = rules.command?.test(kept) === true || rules.leaving?.test(kept) === true;
  const led = acts ? `${INERT_PREFIX}${kept}` : kept;
  return { type: "safe", text: rules.openEnd?.test(led) ? `${led} ` : led };
}
