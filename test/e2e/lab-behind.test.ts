import { expect, it } from "vitest";
import { type BehindFigures, runBehind } from "../lab/behind/play-behind.ts";
import { BEHIND_TARGETS } from "../lab/behind/scenes.ts";
import { requireComponent } from "../support/cluster/components.ts";
import { programFile } from "../support/programs.ts";

/** A short run of `npm run lab:behind`, with a fixed seed. */
const SEED = 1;

it.for(BEHIND_TARGETS.filter(({ name }) => name === "claude-2.1.330" || name === "codex-0.169.0"))(
  "the background work of $name is reported correctly at each look",
  { timeout: 180_000 },
  async (target, context) => {
    await requireComponent(context, target.name.split("-", 1)[0] as "claude" | "codex" | "opencode");
    const runs: BehindFigures[] = [];
    await runBehind(target, {
      seed: SEED,
      from: 0,
      to: 1,
      lagMs: 5000,
      sidecarProgram: programFile("gt-sidecar"),
      signal: AbortSignal.timeout(170_000),
      onRun: (run) => runs.push(run),
      onTrouble: (text) => {
        throw new Error(text);
      },
    });
    expect(runs.flatMap(({ notes }) => notes)).toEqual([]);
    expect(runs).toHaveLength(1);
  },
);
