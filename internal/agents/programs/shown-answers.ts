import type { DialogView, ShownAnswer } from "../profile.ts";
import { lettersAndDigits } from "../safe-text.ts";
import type { Screen } from "../screen.ts";
import { lineAt } from "../screen-text.ts";

/** The rows of the newest turn, from the last message of a person on. */
function newestTurn(screen: Screen, message: RegExp): readonly string[] {
  let first = screen.rows - 1;
  while (first > 0 && !message.test(lineAt(screen, first))) first -= 1;
  return Array.from({ length: screen.rows - first }, (_, i) => lineAt(screen, first + i));
}

/**
 * Codex writes the decision about a command: `✔ You approved codex to run …`, `✗ You canceled the request to run …`.
 */
export function codexShownAnswer(screen: Screen, dialog: DialogView, given: string): ShownAnswer | undefined {
  if (dialog.kind !== "permission") return undefined;
  const rows = newestTurn(screen, /^› /);
  const row = rows.findLast((text) => /^[✔✗] You /.test(text));
  const command = /\brun (?:commands that start with )?(\S{4,20})/.exec(row ?? "")?.[1];
  // The decision about another command, from before this dialog, does not count.
  if (row === undefined || command === undefined || !dialog.text.includes(`$ ${command}`)) return undefined;
  const says = row.startsWith("✗") ? "no" : /to always run\b/.test(row) ? "always" : "yes";
  if (/^No\b/.test(given)) return says === "no" ? "named" : "other";
  if (/^Yes, proceed\b/.test(given)) return says === "yes" ? "named" : "other";
  return says === "no" ? "other" : undefined;
}

/** Claude Code writes the answer after each question: `● Answered Claude's questions:`, `⎿  · Which one? → Green`. */
export function claudeShownAnswer(screen: Screen, dialog: DialogView, given: string): ShownAnswer | undefined {
  if (dialog.kind !== "question") return undefined;
  const rows = newestTurn(screen, /^❯ /);
  const at = rows.findLastIndex((text) => /^● (?:Answered Claude's questions|User answered)/.test(text));
  const shown = rows.slice(
    at + 1,
    rows.findIndex((text, i) => i > at && text === ""),
  );
  const [, answer] = at < 0 ? [] : lettersAround(shown.join(" "));
  const wanted = lettersAndDigits(given);
  if (answer === undefined || wanted === "") return undefined;
  if (answer.includes(wanted)) return "named";
  const others = dialog.choices.map((choice) => lettersAndDigits(choice.label));
  return others.some((label) => label !== "" && answer.startsWith(label)) ? "other" : undefined;
}

/** The text before and after the last arrow, letters and digits only. */
function lettersAround(text: string): readonly string[] {
  const at = text.lastIndexOf(" → ");
  return at < 0 ? [] : [text.slice(0, at), text.slice(at + 3)].map(lettersAndDigits);
}
