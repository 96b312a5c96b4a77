import type { ScreenView } from "../../agents/profile.ts";
import type { Screen, ScreenRun } from "../../agents/screen.ts";

/**
 * The part of the screen that a working agent moves, even if its wording is unknown: the title and the rows above the
 * composer, for some those below it too (`movesBelow`), where colours count as well because some animations only fade.
 * A person's text is in the composer and does not count. Empty without a composer.
 */
export function surroundingsOf(screen: Screen, { composer }: ScreenView, below: boolean): string {
  if (composer === undefined) return "";
  const above = screen.lines.slice(0, composer.top).map(({ text }) => text);
  const under = below ? screen.lines.slice(composer.bottom + 1).flatMap(({ runs }) => runs.map(coloured)) : [];
  return [screen.title, ...above, ...under].join("\n");
}

function coloured({ text, fg }: ScreenRun): string {
  return `${fg} ${text}`;
}
