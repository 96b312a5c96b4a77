import { describe, expect, it } from "vitest";
import { FakePane } from "../../../test/fakes/fake-pane.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { fc } from "../../../test/support/property.ts";
import { loadScreenCases, type ScreenCase } from "../../../test/support/screens/screen-corpus.ts";
import { screenFromRecording } from "../../../test/support/screens/screen-from-ansi.ts";
import type { AgentProfile } from "../../agents/profile.ts";
import { profileNamed } from "../../agents/programs/registry.ts";
import type { Screen } from "../../agents/screen.ts";
import type { AgentStateName } from "../../session/types.ts";
import { StateMonitor } from "./state-monitor.ts";

const cases = await loadScreenCases();
const working = cases.filter(({ truth }) => truth.state === "busy" || (truth.state === "draft" && truth.busy));
const asking = cases.filter(({ truth }) => truth.state === "dialog");

/**
 * Any word of a screen may be another one in the next release, and so may the glyphs that stand for work or a choice.
 */
const WORDS = /[\p{L}]{2,}/gu;
const GLYPHS = /[·✢✳✶✻✽∗•◦⠀-⣿◐◑◒◓■⬝↓↳⎿]/gu;
/**
 * Agents move something at least this often while they work: they count the seconds. Measured in `agents-real.test.ts`.
 */
const FRAME_MS = 1000;

interface Rewording {
  readonly words: readonly string[];
  readonly glyph: string;
}

const rewording = fc.record({
  words: fc.array(fc.stringMatching(/^[a-z]{2,9}$/), { minLength: 5, maxLength: 20 }),
  glyph: fc.constantFrom("◆", "~", "*", "⟳", "»", ""),
});

/** The same text in the words of another release. The characters that frame the composer or a box stay. */
function reworded(text: string, { words, glyph }: Rewording): string {
  let at = text.length;
  return text.replace(WORDS, () => words[at++ % words.length] ?? "word").replace(GLYPHS, glyph);
}

/**
 * All rows but the composer's, whose text is the person's, in other words; `frame` numbers the drawing of the moving
 * part.
 */
function nextRelease(screen: Screen, profile: AgentProfile, by: Rewording, frame: number): Screen {
  const { composer } = profile.view(screen);
  const moving = movingRow(screen, profile);
  const lines = screen.lines.map((line, row) => {
    if (composer !== undefined && row >= composer.top && row <= composer.bottom) return line;
    const moved = { text: ` ${frame}s`, bold: false, dim: true, inverse: false, fg: "default" };
    // Styles go with their words; a row of several styles keeps them.
    const runs = line.runs.map((run) => ({ ...run, text: reworded(run.text, by) }));
    if (row === moving) runs.push(moved);
    return {
      ...line,
      text: runs
        .map((run) => run.text)
        .join("")
        .trimEnd(),
      runs,
    };
  });
  return { ...screen, lines, title: reworded(screen.title, by) };
}

/** The row of a counter of seconds, or of its substitute: right above the composer, or below it. */
function movingRow(screen: Screen, profile: AgentProfile): number {
  const { composer } = profile.view(screen);
  if (composer === undefined) return -1;
  if (profile.movesBelow === true) return composer.bottom + 2;
  for (let row = composer.top - 1; row > 0; row--) if (/\p{L}/u.test(screen.lines[row]?.text ?? "")) return row;
  return 0;
}

/** Every state that is reported while the agent shows these screens, one a second, for half a minute. */
async function statesOf(one: ScreenCase, by: Rewording, moves: boolean): Promise<ReadonlySet<AgentStateName>> {
  const { signal } = new AbortController();
  const profile = profileNamed(one.profile);
  const screen = await screenFromRecording(one.recording);
  const clock = new FakeClock();
  const pane = new FakePane(clock);
  const monitor = new StateMonitor({ clock, profile, source: pane }, { stallAfterMs: 600_000 });
  monitor.signs.started();
  const told = new Set<AgentStateName>();
  let shown = nextRelease(screen, profile, by, 0);
  for (let frame = 0; frame < 30; frame++) {
    if (moves && frame > 0) shown = nextRelease(screen, profile, by, frame);
    pane.show({}, shown);
    for (let i = 0; i < 4; i++) {
      told.add((await monitor.look(signal)).state);
      await clock.advance(FRAME_MS / 4);
    }
  }
  return told;
}

describe("after a new release has reworded its screens", () => {
  it.each(working.map((one) => [one.name, one] as const))("%s is never reported idle", async (_, one) => {
    await fc.assert(
      fc.asyncProperty(rewording, async (by) => {
        expect([...(await statesOf(one, by, true))]).not.toContain("idle");
      }),
      { numRuns: 3 },
    );
  });

  it.each(asking.map((one) => [one.name, one] as const))("the dialog of %s is never reported idle", async (_, one) => {
    await fc.assert(
      fc.asyncProperty(rewording, async (by) => {
        expect([...(await statesOf(one, by, false))]).not.toContain("idle");
      }),
      { numRuns: 3 },
    );
  });
});
