import type { Redactor } from "../base/redact.ts";
import { foldedLine } from "../base/sanitise.ts";

/** Enough for a sentence that says what is wrong, and where. */
const MAX_CHARS = 300;

/**
 * The last output of a program, as the end of a sentence about how it ended: `: no licence found`. One bounded line of
 * plain text without secrets; empty if there was no output.
 */
export function lastWords(text: string, redactor: Redactor): string {
  const said = redactor.redact(foldedLine(text));
  if (said === "") return "";
  const cut = said.slice(0, MAX_CHARS).replace(/[\ud800-\udbff]$/, "");
  return `: ${cut}${cut === said ? "" : "…"}`;
}
