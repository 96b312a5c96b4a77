import type { BenchContext } from "../context.ts";
import { type Measured, measured } from "../report/row.ts";
import { RelayBenchBed } from "./relay-bench-bed.ts";

/** Measures the relay's cost of idle agents, and how soon each of them has done a piece of work. */
export async function measureCrowd({ quick, say, signal }: BenchContext, nats: string): Promise<readonly Measured[]> {
  const agents = quick ? 100 : 500;
  say(`relay: ${agents} agents`);
  await using bed = await RelayBenchBed.create(nats, { isInspected: true });
  using stack = new DisposableStack();
  stack.use(await bed.agent("first"));
  await bed.turn("first", "w-first");
  const before = await bed.memoryMiB();
  const names = Array.from({ length: agents }, (_, agent) => `s${agent}`);
  for (const name of names) {
    signal.throwIfAborted();
    stack.use(await bed.agent(name));
  }
  await bed.untilLanesHeld(agents + 1);
  const each = (((await bed.memoryMiB()) - before) * 1024) / agents;
  const at = performance.now();
  await Promise.all(names.map((name) => bed.turn(name, `w-${name}`)));
  const served = performance.now() - at;
  return [
    measured(`relay: memory for each of ${agents} idle agents, plaintext`, each, "KiB", { atMost: 64 }),
    measured(`relay: ${agents} agents do a piece of work each, after`, served / 1000, "s", { atMost: 10 }),
  ];
}
