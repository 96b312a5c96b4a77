import type { SafeText } from "./profile.ts";
import { INERT_PREFIX } from "./safe-text.ts";

export interface DefuseRules {
  /** Matches at the start of a message that this agent would take as a command of its own. */
  readonly command?: RegExp;
  /** Matches at the end of a message where Enter would do something else than submit; a space is put behind it. */
  readonly openEnd?: RegExp;
}

/**
 * Makes a normalised message harmless: `INERT_PREFIX` in front of what would be a command, a space behind an ending that
 * would change what Enter does, and reminder tags, which agents trust more than a user's text, spelt so that they end
 * nothing. `comparable` sees through all three.
 */
export function defuseBy(rules: DefuseRules, message: string): SafeText {
  const tagged = message.replace(/<(?=\/?system-reminder)/gi, "< ");
  const led = rules.command?.test(tagged) ? `${INERT_PREFIX}${tagged}` : tagged;
  return { type: "safe", text: rules.openEnd?.test(led) ? `${led} ` : led };
}
