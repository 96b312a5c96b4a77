import { describe, expect, it } from "vitest";
import { seeded } from "../../bench/stats.ts";
import { runCrowd } from "../lab/delivery/crowd.ts";
import { type RunOptions, runTarget } from "../lab/delivery/run-target.ts";
import { MODES, type Sample } from "../lab/delivery/send.ts";
import { TARGETS, type Target } from "../lab/delivery/targets.ts";
import { requireComponent } from "../support/cluster/components.ts";
import { programFile } from "../support/programs.ts";

/** A short run of `npm run lab`, with a fixed seed and few enough sends for every run of the tests. */
const SEED = 4;
const LONG = 180_000;

function targetNamed(name: string): Target {
  const target = TARGETS.find((each) => each.name === name);
  if (target === undefined) throw new Error(`no target ${name}`);
  return target;
}

async function samplesOf(name: string, sends: number, seconds: number, only = ""): Promise<readonly Sample[]> {
  const target = targetNamed(name);
  const samples: Sample[] = [];
  const options: RunOptions = {
    sends,
    until: Date.now() + seconds * 1000,
    only,
    modes: MODES,
    random: seeded(SEED),
    sidecarProgram: programFile("gt-sidecar"),
    signal: AbortSignal.timeout(LONG),
    onSample: (sample) => samples.push(sample),
    onStart: () => {},
    onTrouble: (text) => {
      throw new Error(text);
    },
  };
  await runTarget(target, options);
  return samples;
}

/** A sentence for each send whose receipt was not true. */
function untrue(samples: readonly Sample[]): readonly string[] {
  return samples
    .filter((sample) => sample.faults.length > 0)
    .map(
      (sample) =>
        `${sample.state}, ${sample.kind}, ${sample.mode}: reported ${sample.told}; ${JSON.stringify(sample.faults)}`,
    );
}

describe("each receipt agrees with what the agent received:", () => {
  it.concurrent.each([
    ["demo:plain", 30],
    ["demo:drop-first-enter", 12],
    ["demo:no-bracketed-paste", 12],
    ["demo:flicker-idle=400", 8],
    ["demo:eat-enter-after-paste=120", 8],
    ["demo:spinner-always", 8],
    ["demo:garbage", 8],
  ])("%s", { timeout: LONG }, async (name, sends) => {
    const samples = await samplesOf(name, sends, 40);
    expect(untrue(samples)).toEqual([]);
    expect(samples.length).toBeGreaterThan(3);
  });

  it.concurrent("claude-2.1.330, a real agent", { timeout: LONG }, async (context) => {
    await requireComponent(context, "claude");
    const samples = await samplesOf("claude-2.1.330", 20, 40);
    expect(untrue(samples)).toEqual([]);
    expect(samples.length).toBeGreaterThan(3);
  });
});

describe("the messages of fifty concurrent callers", () => {
  it("arrive whole and in order", { timeout: LONG }, async () => {
    const options = {
      callers: 50,
      mode: "immediate",
      sidecarProgram: programFile("gt-sidecar"),
      signal: AbortSignal.timeout(LONG),
    } as const;
    const figures = await runCrowd(targetNamed("demo:plain"), options);
    expect(figures).toMatchObject({ notes: [], submitted: 50, whole: 50, inOrder: true });
  });
});
