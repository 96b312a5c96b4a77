import { setTimeout as sleep } from "node:timers/promises";
import type { BenchContext } from "../context.ts";
import { type Measured, measured } from "../report/row.ts";
import { RelayBenchBed } from "./relay-bench-bed.ts";

const PER_SECOND = 20;
/** The number of lanes, which are reused, as if the agents came back. */
const LANES = 200;

/** Measures the memory that agents leave behind when they connect, do a piece of work, and leave. */
export async function measureChurn({ quick, say, signal }: BenchContext, nats: string): Promise<readonly Measured[]> {
  const seconds = quick ? 15 : 120;
  say(`relay: ${PER_SECOND} connections a second for ${seconds} s`);
  await using bed = await RelayBenchBed.create(nats, { isInspected: true });
  await come(bed, { first: 0, seconds: 10 }, signal); // each lane once, because a relay remembers its lanes
  const consumers = await bed.consumers();
  const [memory, live] = [await bed.memoryMiB(), await bed.liveMiB()];
  await come(bed, { first: LANES, seconds }, signal);
  const [memoryAfter, liveAfter] = [await bed.memoryMiB(), await bed.liveMiB()];
  const name = (what: string) => `relay: after ${PER_SECOND} connections a second for ${seconds} s, ${what}`;
  return [
    measured(name("memory grown"), memoryAfter - memory, "MiB", { atMost: 10 }),
    measured(name("live memory grown"), liveAfter - live, "MiB", { atMost: 10 }),
    measured(name("consumers more"), (await bed.consumers()) - consumers, "consumers", { atMost: 0 }),
  ];
}

async function come(
  bed: RelayBenchBed,
  { first, seconds }: { readonly first: number; readonly seconds: number },
  signal: AbortSignal,
): Promise<void> {
  const visits: Promise<void>[] = [];
  for (let visit = first; visit < first + seconds * PER_SECOND; visit++) {
    signal.throwIfAborted();
    visits.push(visitOnce(bed, `c${visit % LANES}`, `w${visit}`));
    await sleep(1000 / PER_SECOND);
  }
  await Promise.all(visits);
  await bed.untilLanesHeld(0);
}

async function visitOnce(bed: RelayBenchBed, session: string, id: string): Promise<void> {
  using _ = await bed.agent(session);
  await bed.turn(session, id);
}
