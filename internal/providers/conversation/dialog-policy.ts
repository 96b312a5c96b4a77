import { createHash } from "node:crypto";
import type { DialogKind } from "../../agents/profile.ts";
import { plainText } from "../../base/sanitise.ts";
import type { Dialog } from "../../session/types.ts";
import { acceptOnly } from "./agent-options.ts";
import type { AgentLink, OptionRules } from "./conversation.ts";

export type DialogAnswer = "allow" | "deny";

/** The answer to an agent's requests: in a session without a terminal no person can answer. */
export const PERMISSION_MODE = { permission_mode: acceptOnly("deny", "allow") } satisfies OptionRules;

/** Sent to the agent with a denial, so that it can continue. */
export const DENIED =
  "Denied: nobody can answer requests in this session. Go on without it, or end the turn and say what you need.";

const MAX_TITLE_CHARS = 200;
const MAX_TEXT_CHARS = 4_000;

/** A question of an agent. */
export interface Question {
  readonly kind: DialogKind;
  readonly title: string;
  readonly text: string;
  readonly choices: readonly string[];
}

/**
 * Answers an agent's question, and reports that the agent waited for an answer. A question for information is always
 * denied, because no true answer can be given. The caller must send the answer to the agent at once.
 */
export function answerDialog(link: AgentLink, question: Question, mode: DialogAnswer): DialogAnswer {
  const decision = question.kind === "permission" || question.kind === "plan" ? mode : "deny";
  const dialog = dialogOf(question, link.clock.now());
  link.emit({ type: "phase", state: "dialog" });
  link.emit({ type: "dialog-opened", dialog });
  const word = decision === "allow" ? "allowed" : "denied";
  link.emit({ type: "output", stream: "stdout", text: `● ${dialog.title}: ${word} (permission_mode=${mode})\n` });
  link.emit({ type: "dialog-closed", dialog });
  link.emit({ type: "phase", state: "busy" });
  return decision;
}

function dialogOf(question: Question, since: number): Dialog {
  const title = plainText(question.title).replaceAll("\n", " ").slice(0, MAX_TITLE_CHARS);
  const text = plainText(question.text).slice(0, MAX_TEXT_CHARS);
  const choices = question.choices.map((label, index) => ({
    key: String(index + 1),
    label: plainText(label).slice(0, MAX_TITLE_CHARS),
    selected: false,
  }));
  const id = createHash("sha256")
    .update(JSON.stringify([question.kind, title, text, choices]))
    .digest("hex")
    .slice(0, 16);
  return { id, kind: question.kind, title, text, choices, since };
}
