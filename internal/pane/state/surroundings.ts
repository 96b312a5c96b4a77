import type { ScreenView } from "../../agents/profile.ts";
import type { Screen, ScreenRun } from "../../agents/screen.ts";

/**
 * The parts of the screen that change while an agent works, whatever their wording: the title, the rows above the
 * composer and, if `below` (the profile's `movesBelow`), the rows below it. In the rows below it, colours count too,
 * because some animations only fade. A person's text is in the composer and does not count. Empty without a composer.
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
