import { readAllResults } from "../../../bench/report/results.ts";
import type { Results } from "../../../bench/report/row.ts";
import type { ScreenScore } from "./screen-score.ts";

/** Recorded after the rules were fixed; no rule was ever changed for them. */
const HELD_OUT: ReadonlySet<string> = new Set(["claude/2.1.270", "codex/0.163.0", "opencode/1.18.20"]);

/** Right: the state, with the kind of the dialog, and whether a draft is in the composer. "Uncertain" is a miss. */
export function screenResults(scores: readonly ScreenScore[]): Results {
  const rows = scores.map(({ version, screens, right, wrong, falseIdle, resting, idle }) => [
    version,
    HELD_OUT.has(version) ? "held out" : "tuned",
    screens,
    right,
    wrong.length,
    falseIdle.length,
    `${idle} of ${resting} (${((100 * idle) / resting).toFixed(1)} %)`,
  ]);
  return {
    run: "the same on every machine",
    rows: [],
    tables: [
      {
        title: "Recorded screens",
        head: ["program", "rules", "screens", "right", "wrong", "false idle", "idle recall"],
        rows,
      },
    ],
    notes: scores.flatMap((score) => score.wrong),
  };
}

/** The last stored results; undefined if there are none. */
export const writtenScreenResults = (): Results | undefined => readAllResults().get("screens");
