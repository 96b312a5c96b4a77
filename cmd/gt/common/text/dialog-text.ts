import { foldedLine, plainText } from "../../../../internal/base/sanitise.ts";
import { textWidth } from "../../../../internal/base/text-width.ts";
import type { Dialog } from "../../../../internal/session/types.ts";
import { gtLine } from "../../../../internal/terminal/places/gt-line.ts";
import type { PlaceConfig } from "../../../../internal/terminal/places/place-config.ts";

const MAX_LINES = 12;
/** Labels up to this width are aligned. */
const LABEL_WIDTH = 40;
/** The marks that an agent draws before a title, and before a choice's label. */
const BULLET = /^[^\p{L}\p{N}]+/u;
const MARK = /^\s*[❯›▶>→●•]?\s*/;

/** A dialog as text for a person: its question, and each choice with the command that chooses it. */
export function dialogLines(dialog: Dialog, agent: string, place: PlaceConfig): readonly string[] {
  const title = dialog.title === "" ? dialog.kind : `${dialog.kind}: ${foldedLine(dialog.title)}`;
  const text = plainText(dialog.text)
    .split("\n")
    .filter(
      (line) =>
        line.trim() !== "" &&
        foldedLine(line.replace(BULLET, "")) !== foldedLine(dialog.title) &&
        !isChoice(dialog, line),
    );
  const more = text.length > MAX_LINES ? [`… ${text.length - MAX_LINES} more lines: gt peek shows them`] : [];
  const labels = dialog.choices.map(
    (one) => `${one.selected ? ">" : " "} ${foldedLine(one.key)}. ${foldedLine(one.label)}`,
  );
  const width = Math.min(LABEL_WIDTH, Math.max(0, ...labels.map((label) => textWidth(label))));
  const choices = dialog.choices.map((one, i) => {
    const label = labels[i] ?? "";
    const gap = " ".repeat(Math.max(0, width - textWidth(label)) + 3);
    return `${label}${gap}${gtLine(["respond", foldedLine(agent), one.key], place)}`;
  });
  return [title, ...text.slice(0, MAX_LINES), ...more, ...choices];
}

function isChoice({ choices }: Dialog, line: string): boolean {
  const bare = foldedLine(line.replace(MARK, ""));
  return choices.some(({ key, label }) => bare === foldedLine(label) || bare === `${key}. ${foldedLine(label)}`);
}
