import { createHash } from "node:crypto";
import type { DialogView, ScreenView } from "../../agents/profile.ts";
import { plainText } from "../../base/sanitise.ts";
import type { Dialog } from "../../session/types.ts";

/** The mark before the selected choice, or the blanks before the others. */
const SELECTION_MARK = /^[ \t]*(?:[❯›▶>→●•] ?)?[ \t]*/gm;
/** The mark before the selected one of several buttons in a row. */
const BUTTON_MARK = / {2}❯ (?=\S)/g;

/**
 * A dialog as callers see it: plain text only, with an id that changes when the dialog's content changes, but not when
 * the selection moves.
 */
export function dialogFrom(view: DialogView, since: number): Dialog {
  const labels = view.choices.map((choice) => [choice.key, choice.label]);
  const content = JSON.stringify([view.kind, view.title, textWithoutMarks(view), labels]);
  return {
    id: createHash("sha256").update(content).digest("hex").slice(0, 16),
    kind: view.kind,
    title: plainText(view.title),
    text: plainText(view.text),
    choices: view.choices.map((choice) => ({ ...choice, label: plainText(choice.label) })),
    since,
  };
}

function textWithoutMarks({ text, beside }: DialogView): string {
  const plain = text.replace(SELECTION_MARK, "  ");
  return beside ? plain.replace(BUTTON_MARK, "    ") : plain;
}

/** The part of a view that matters for the agent's state; equal keys mean that nothing relevant has changed. */
export function viewKey(view: ScreenView): string {
  const { composer: box } = view;
  const composer = box === undefined ? "none" : box.text === "" && box.pasteMarkers === 0 ? "empty" : "text";
  const dialog = view.dialog === undefined ? "" : dialogFrom(view.dialog, 0).id;
  const background = (view.background ?? []).map(({ kind, count }) => `${count} ${kind}`).join();
  const marks = [view.busy === undefined ? "" : "busy", view.parked === undefined ? "" : "parked"];
  return [composer, ...marks, dialog, background].join("|");
}
