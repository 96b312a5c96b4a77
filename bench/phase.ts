import { PHASE_TARGETS, playPhases } from "../test/lab/phases/play.ts";
import { phaseRows, phaseText } from "../test/lab/phases/report.ts";
import { areAgentsInstalled } from "./beds.ts";
import type { BenchContext } from "./context.ts";
import type { Measured } from "./report/row.ts";

/** Measures how fast and how correctly the state follows real agents. `npm run soak` does so for longer. */
export async function measurePhase({ signal, quick, program, say, note }: BenchContext): Promise<readonly Measured[]> {
  if (!areAgentsInstalled()) {
    note("phase: not measured: the agent programs are not installed (npm ci in test/agents).");
    return [];
  }
  const rows: Measured[] = [];
  for (const target of PHASE_TARGETS) {
    say(`phase: ${target.name}`);
    const options = { ms: quick ? 20_000 : 90_000, everyMs: 20, seed: 1, long: false, sidecarProgram: program, say };
    const run = await playPhases(target, options, signal);
    rows.push(...phaseRows(run));
    note(phaseText(run));
  }
  return rows;
}
