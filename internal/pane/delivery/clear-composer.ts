import type { AgentProfile, ComposerView } from "../../agents/profile.ts";
import type { Clock } from "../../base/clock.ts";
import type { ScreenSource } from "../screen/screen-source.ts";
import type { PaneWriter } from "./delivery-attempt.ts";
import { isPartOf, residueOn } from "./residue.ts";
import type { UnsubmittedTexts } from "./unsubmitted-texts.ts";

export interface ClearDeps {
  readonly clock: Clock;
  readonly writer: Pick<PaneWriter, "typeAt" | "unread">;
  readonly source: ScreenSource;
  readonly profile: AgentProfile;
  readonly standing: UnsubmittedTexts;
}

/** `hangs`: the agent has not read the key that was pressed at `since` (monotonic ms), so its screen is old. */
export type Clearing = { readonly type: "cleared" | "stands" } | { readonly type: "hangs"; readonly since: number };

const CLEARED: Clearing = { type: "cleared" };
const STANDS: Clearing = { type: "stands" };
/** Ctrl-U erases the text before the cursor in its row; every agent here knows it, and it never ends or stops one. */
const ERASE = "\x15";
/** A folded text goes at once, a text with lines row by row. */
const MOST_KEYS = 400;
const ALL_MS = 15_000;
/** How long one key may take to show its effect. */
const KEY_MS = 1000;
/** After this many keys in a row without effect, the remaining text is left in place. */
const MOST_VAIN = 2;
const LOOK_MS = 10;

/**
 * Erases our texts in the composer, from their end, with the agent's own key and a look after each press. Stops as soon
 * as the composer holds anything but a beginning of its first content: a person is typing. It also stops if the agent
 * does not read a key. Nothing else may write to the pane meanwhile.
 */
export async function clearOwnText(deps: ClearDeps, signal: AbortSignal): Promise<Clearing> {
  const { clock, source, profile, standing, writer } = deps;
  const end = clock.monotonicMs() + ALL_MS;
  let rest: ComposerView | undefined;
  let vain = 0;
  for (let keys = 0; keys < MOST_KEYS && clock.monotonicMs() < end; keys++) {
    const screen = await source.current(signal);
    const { composer } = profile.view(screen);
    if (composer === undefined) return STANDS;
    if (standing.isEmpty(composer)) return CLEARED;
    // An agent that has only begun to draw may show more of the texts than before.
    const isOurs = standing.knows(composer) || (rest !== undefined && isRestOf(composer, rest));
    if (!isOurs) return STANDS;
    rest = composer;
    if (vain === MOST_VAIN) {
      return standing.noteResidue(residueOn(screen, composer, composer.text)) ? CLEARED : STANDS;
    }
    const since = clock.monotonicMs();
    await writer.typeAt(ERASE, { x: screen.cursorX, y: screen.cursorY });
    const isChanged = await hasChanged(deps, composer.text, signal);
    if (!isChanged && ((await writer.unread()) ?? 0) > 0) return { type: "hangs", since };
    vain = isChanged ? 0 : vain + 1;
  }
  return STANDS;
}

async function hasChanged({ clock, source, profile }: ClearDeps, before: string, signal: AbortSignal) {
  const end = clock.monotonicMs() + KEY_MS;
  for (;;) {
    const { composer } = profile.view(await source.current(signal));
    if (composer?.text !== before) return true;
    if (clock.monotonicMs() >= end) return false;
    await source.changed(LOOK_MS, signal);
  }
}

function isRestOf(composer: ComposerView, before: ComposerView): boolean {
  return composer.pasteMarkers <= before.pasteMarkers && isPartOf(composer.text, before.text.normalize("NFC"));
}
