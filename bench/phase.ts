import { areAgentsInstalled } from "./beds.ts";
import type { BenchContext } from "./context.ts";
import { PHASE_TARGETS, playPhases } from "./phase/play.ts";
import { phaseRows, phaseText } from "./phase/report.ts";
import type { Measured } from "./row.ts";

/** How soon, and how truly, the state follows real agents. `npm run soak` does it for longer. */
export async function measurePhase({ signal, quick, program, say, note }: BenchContext): Promise<readonly Measured[]> {
  if (!areAgentsInstalled()) {
    note("phase: not measured, the agents' programs are not installed (npm ci in test/agents).");
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
