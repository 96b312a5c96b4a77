import { setup as buildPrograms } from "../../test/support/build-programs.ts";
import { component } from "../../test/support/cluster/components.ts";
import type { BenchContext } from "../context.ts";
import type { Measured } from "../report/row.ts";
import { measureChurn } from "./churn.ts";
import { measureComeBack } from "./come-back.ts";
import { measureCrowd } from "./crowd.ts";
import { measureThroughput, measureTurns } from "./turns.ts";

/**
 * Measures the relay, compared with the bare JetStream calls of its turns: one turn, 100 lanes, an agent that comes
 * back, 500 agents, and agents that come and go.
 */
export async function measureRelay(context: BenchContext): Promise<readonly Measured[]> {
  const nats = await component("nats-server");
  if ("missing" in nats) {
    context.note(`relay: not measured, ${nats.missing}.`);
    return [];
  }
  await using stack = new AsyncDisposableStack();
  stack.defer(await buildPrograms());
  const rows: Measured[] = [];
  for (const measure of [measureTurns, measureThroughput, measureComeBack, measureCrowd, measureChurn]) {
    context.signal.throwIfAborted();
    rows.push(...(await measure(context, nats.path)));
  }
  return rows;
}
