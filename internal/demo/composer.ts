import type { KeyName } from "./key-decoder.ts";

/** One editable unit: a character as a person sees it, or a folded paste. */
type Unit =
  | { readonly type: "char"; readonly text: string }
  | { readonly type: "paste"; readonly text: string; readonly label: string };

/** The draft. `cursor` counts units and may be after the last. */
export interface Composer {
  readonly units: readonly Unit[];
  readonly cursor: number;
}

export const emptyComposer: Composer = { units: [], cursor: 0 };

const FOLD_OVER_LINES = 4;
const FOLD_OVER_CHARACTERS = 800;
const LINE_BREAK: Unit = { type: "char", text: "\n" };

/** True for a paste that is shown as one marker instead of its text: over 4 lines or over 800 characters. */
export function folds(text: string): boolean {
  return text.length > FOLD_OVER_CHARACTERS || text.split("\n").length > FOLD_OVER_LINES;
}

/** The marker of a folded paste; it counts the lines after the first, but shows at least 1. */
export function foldLabel(number: number, text: string): string {
  const more = Math.max(1, text.split("\n").length - 1);
  return `[Pasted text #${number} +${more} lines]`;
}

export function insertText(composer: Composer, text: string): Composer {
  return insertUnits(composer, unitsOf(text));
}

export function insertPaste(composer: Composer, text: string, label: string): Composer {
  return insertUnits(composer, [{ type: "paste", text, label }]);
}

/** The text for the model. */
export function fullText(composer: Composer): string {
  return composer.units.map((unit) => unit.text).join("");
}

/** The text on the screen: folded pastes are shown as markers. */
export function composerText(composer: Composer): string {
  return composer.units.map((unit) => (unit.type === "paste" ? unit.label : unit.text)).join("");
}

/** Applies an editing key; for a key that edits nothing, returns the same composer. */
export function edit(composer: Composer, name: KeyName): Composer {
  const { units, cursor } = composer;
  switch (name) {
    case "left":
      return { units, cursor: Math.max(0, cursor - 1) };
    case "right":
      return { units, cursor: Math.min(units.length, cursor + 1) };
    case "home":
      return { units, cursor: lineStart(units, cursor) };
    case "end":
      return { units, cursor: lineEnd(units, cursor) };
    case "up":
    case "down":
      return { units, cursor: verticalMove(units, cursor, name) };
    case "backspace":
      return remove(composer, cursor - 1, cursor);
    case "delete":
      return remove(composer, cursor, cursor + 1);
    case "kill-line":
      return remove(composer, lineStart(units, cursor), cursor);
    case "kill-to-end":
      return remove(composer, cursor, lineEnd(units, cursor));
    case "kill-word":
      return remove(composer, wordStart(units, cursor), cursor);
    case "newline":
      return insertUnits(composer, [LINE_BREAK]);
    default:
      return composer;
  }
}

/** Splits text into characters as a person sees them; controls but LF are left out, a tab becomes four blanks. */
function unitsOf(text: string): Unit[] {
  const clean = text.replaceAll("\t", "    ").replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, "");
  if (/^[\n\x20-\x7e]*$/.test(clean)) return Array.from(clean, (character) => ({ type: "char", text: character }));
  return Array.from(new Intl.Segmenter().segment(clean), ({ segment }) => ({ type: "char", text: segment }));
}

function insertUnits(composer: Composer, added: readonly Unit[]): Composer {
  const { units, cursor } = composer;
  return { units: [...units.slice(0, cursor), ...added, ...units.slice(cursor)], cursor: cursor + added.length };
}

function remove(composer: Composer, from: number, to: number): Composer {
  if (from < 0 || from >= to || to > composer.units.length) return composer;
  return { units: [...composer.units.slice(0, from), ...composer.units.slice(to)], cursor: from };
}

function isBreak(unit: Unit | undefined): boolean {
  return unit?.type === "char" && unit.text === "\n";
}

function lineStart(units: readonly Unit[], cursor: number): number {
  let at = cursor;
  while (at > 0 && !isBreak(units[at - 1])) at--;
  return at;
}

function lineEnd(units: readonly Unit[], cursor: number): number {
  let at = cursor;
  while (at < units.length && !isBreak(units[at])) at++;
  return at;
}

function wordStart(units: readonly Unit[], cursor: number): number {
  const isBlank = (unit: Unit | undefined) => unit?.type === "char" && /^\s$/u.test(unit.text);
  let at = cursor;
  while (at > 0 && isBlank(units[at - 1])) at--;
  while (at > 0 && !isBlank(units[at - 1])) at--;
  return at;
}

function verticalMove(units: readonly Unit[], cursor: number, way: "up" | "down"): number {
  const start = lineStart(units, cursor);
  const column = cursor - start;
  if (way === "up") {
    if (start === 0) return cursor;
    const above = lineStart(units, start - 1);
    return Math.min(above + column, start - 1);
  }
  const end = lineEnd(units, cursor);
  if (end === units.length) return cursor;
  return Math.min(end + 1 + column, lineEnd(units, end + 1));
}
