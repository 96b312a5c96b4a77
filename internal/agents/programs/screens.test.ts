import { describe, expect, it } from "vitest";
import { loadScreenCases } from "../../../test/support/screens/screen-corpus.ts";
import { screenFromRecording } from "../../../test/support/screens/screen-from-ansi.ts";
import { screenResults, writtenScreenResults } from "../../../test/support/screens/screen-report.ts";
import { scoreScreens } from "../../../test/support/screens/screen-score.ts";
import type { ScreenView } from "../profile.ts";
import { profileNamed } from "./registry.ts";

const cases = await loadScreenCases();
const named = cases.map((screen) => [screen.name, screen] as const);

/** The conclusion that a monitor may draw from one view. */
function claim(view: ScreenView): string {
  if (view.dialog !== undefined) return "dialog";
  if (view.composer === undefined) return "uncertain";
  const draft = view.composer.text !== "" || view.composer.pasteMarkers > 0;
  return `${draft ? "draft" : "empty"}${view.busy === undefined ? "" : ", busy"}`;
}

describe("recorded screens", () => {
  it("cover each agent program", () => {
    const programs = new Set(cases.map((screen) => screen.name.split("/").slice(0, 2).join("/")));
    expect([...programs].sort()).toEqual([
      "claude/2.1.197",
      "claude/2.1.270",
      "claude/2.1.330",
      "codex/0.163.0",
      "codex/0.169.0",
      "opencode/1.18.20",
      "opencode/1.18.33",
    ]);
  });

  it.each(named)("of %s are read correctly", async (_name, { profile, recording, truth, view }) => {
    const seen = profileNamed(profile).view(await screenFromRecording(recording));
    expect(seen).toEqual(view);
    switch (truth.state) {
      case "idle":
        return expect(claim(seen)).toBe("empty");
      case "busy":
        return expect(claim(seen)).toBe("empty, busy");
      case "draft":
        return expect(claim(seen)).toBe(truth.busy ? "draft, busy" : "draft");
      case "dialog":
        return expect({ kind: seen.dialog?.kind, composer: seen.composer }).toEqual({
          kind: truth.kind,
          composer: undefined,
        });
      case "other":
        return expect(claim(seen)).not.toMatch(/^empty$/);
    }
  });

  it("of agents that are not idle never count as idle, and at least 99 % of those of idle agents do", async () => {
    for (const { version, falseIdle, idle, resting } of await scoreScreens(cases)) {
      expect(falseIdle, version).toEqual([]);
      expect(idle / resting, version).toBeGreaterThanOrEqual(0.99);
    }
  });

  it("match the published figures", async () => {
    expect(writtenScreenResults()).toEqual(screenResults(await scoreScreens(cases)));
  });

  it("of a dialog show a composer to no profile, whichever agent it belongs to", async () => {
    for (const { recording, truth } of cases) {
      if (truth.state !== "dialog") continue;
      const screen = await screenFromRecording(recording);
      for (const name of ["claude", "codex", "opencode", "demo"]) {
        expect(profileNamed(name).view(screen).composer).toBeUndefined();
      }
    }
  });
});
