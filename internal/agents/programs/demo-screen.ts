import { type ChoiceReading, numberedChoices } from "../choices.ts";
import type { ComposerView, DialogKind, DialogView, ScreenView } from "../profile.ts";
import type { Screen } from "../screen.ts";
import { lastRow, lineAt, textOfRows, typedText } from "../screen-text.ts";

const WORKING = /^[✳✶✻✽] Working…/;
const FOOTER = "Enter to choose · Esc to cancel";
const PASTE = /\[Pasted text #\d+ \+\d+ lines\]/g;

/**
 * Reads the demo agent's screen: its last row is the status line; above it is the composer or a dialog between two
 * full-width lines, and above that its queue and its busy line.
 */
export function demoView(screen: Screen): ScreenView {
  const status = lastRow(screen);
  const lower = status - 1;
  if (lower < 1 || !fullRule(screen, lower)) return {};
  let upper = lower - 1;
  while (upper >= 0 && !fullRule(screen, upper)) upper -= 1;
  if (upper < 0 || upper === lower - 1) return {};
  if (lineAt(screen, upper + 1).startsWith("? ")) {
    const dialog = dialogIn(screen, upper + 1, lower - 1);
    return { dialog };
  }
  if (!/^[> ]( |$)/.test(lineAt(screen, upper + 1))) return {};
  const busy = busyMark(screen, upper - 1, status);
  return { composer: composerIn(screen, upper + 1, lower - 1), busy };
}

function fullRule(screen: Screen, row: number): boolean {
  const text = lineAt(screen, row);
  return text.length >= Math.max(1, screen.cols - 1) && /^─+$/.test(text);
}

function composerIn(screen: Screen, top: number, bottom: number): ComposerView {
  const rows: string[] = [];
  for (let row = top; row <= bottom; row += 1) rows.push(typedText(screen.lines[row]).slice(2));
  const text = rows.join("\n").trimEnd();
  return { top, bottom, text, pasteMarkers: text.match(PASTE)?.length ?? 0 };
}

function busyMark(screen: Screen, from: number, status: number): string | undefined {
  const above = WORKING.exec(lineAt(screen, from));
  if (above !== null) return above[0];
  return lineAt(screen, status).startsWith("esc to interrupt") ? "esc to interrupt" : undefined;
}

const KINDS: readonly (readonly [DialogKind, RegExp])[] = [
  ["trust", /\btrust\b/i],
  ["permission", /\b(?:allow|run|proceed|permission)\b/i],
  ["plan", /\bplan\b/i],
  ["picker", /\b(?:model|select|pick|choose)\b/i],
];

function dialogIn(screen: Screen, top: number, bottom: number): DialogView | undefined {
  if (!lineAt(screen, bottom).startsWith(FOOTER.slice(0, Math.max(1, screen.cols - 1)))) return undefined;
  const title = lineAt(screen, top).slice(2).trim();
  const kind = KINDS.find(([, pattern]) => pattern.test(title))?.[0] ?? "question";
  const shown = { kind, title, text: textOfRows(screen, top, bottom - 1) };
  const list = listAbove(screen, bottom);
  if (list?.type === "list") return { ...shown, choices: list.choices };
  return { ...shown, choices: [], unclear: list?.why ?? "they are not on the screen" };
}

/** The choices are the rows above the keys, one each; the request is above them. */
function listAbove(screen: Screen, keys: number): ChoiceReading | undefined {
  return numberedChoices({
    text: (row) => lineAt(screen, row),
    column: 2,
    leads: (before) => before === "  " || before === "❯ ",
    isSelected: (row) => lineAt(screen, row).startsWith("❯"),
    anchor: keys - 1,
    from: 0,
    to: keys - 1,
  });
}
