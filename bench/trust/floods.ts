import { FloodedServer, type WrongCredentials } from "../../test/support/bridge/flooded-server.ts";
import type { BenchContext } from "../context.ts";
import { residentMiB } from "../proc.ts";
import { type Measured, measured } from "../report/row.ts";
import { quantile } from "../stats.ts";

/** One call in this many uses a new connection: with more, they would wait for each other even without a flood. */
const NEWCOMER_OF = 12;

interface Times {
  readonly open: number[];
  readonly fresh: number[];
}

/**
 * Measures what floods of wrong credentials cost other callers: their calls, in turn without and during a flood, and
 * the server's memory.
 */
export async function measureFloods({ quick, signal, say }: BenchContext): Promise<readonly Measured[]> {
  await using server = await FloodedServer.start();
  await calls(server, quick ? 20 : 100); // warm
  const rows: Measured[] = [];
  for (const wrong of ["tokens", "certificates"] as const) {
    say(`trust: a flood of wrong ${wrong}`);
    rows.push(...(await measureFlood(server, wrong, quick ? 2 : 8, quick ? 24 : 120, signal)));
  }
  return rows;
}

async function measureFlood(
  server: FloodedServer,
  wrong: WrongCredentials,
  rounds: number,
  count: number,
  signal: AbortSignal,
): Promise<readonly Measured[]> {
  const quiet: Times = { open: [], fresh: [] };
  const flooded: Times = { open: [], fresh: [] };
  const before = residentMiB(server.pid);
  let [tried, seconds, most] = [0, 0, before];
  for (let round = 0; round < rounds; round++) {
    signal.throwIfAborted();
    add(quiet, await calls(server, count));
    const began = performance.now();
    const flood = await server.flood(wrong);
    add(flooded, await calls(server, count));
    most = Math.max(most, residentMiB(server.pid));
    tried += await flood.end();
    seconds += (performance.now() - began) / 1000;
  }
  const name = `flood of wrong ${wrong}`;
  return [
    measured(`${name}: tried`, tried / seconds, "a second"),
    measured(`${name}: a call over an open connection, p50 (baseline: quiet)`, median(flooded.open), "ms", {
      baseline: median(quiet.open),
      ratioAtMost: 2,
    }),
    measured(`${name}: connecting and a call, p50 (baseline: quiet)`, median(flooded.fresh), "ms", {
      baseline: median(quiet.fresh),
      ratioAtMost: 3,
    }),
    measured(`${name}: more memory of the server at its peak`, most - before, "MiB", { atMost: 48 }),
  ];
}

/** The times of calls over one connection, and of some that connect first, ms. */
async function calls(server: FloodedServer, count: number): Promise<Times> {
  using open = server.caller();
  await open.call();
  const times: Times = { open: [], fresh: [] };
  for (let i = 0; i < count; i++) {
    times.open.push(await timed(() => open.call()));
    if (i % NEWCOMER_OF !== 0) continue;
    using newcomer = server.caller();
    times.fresh.push(await timed(() => newcomer.call()));
  }
  return times;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function add(to: Times, from: Times): void {
  to.open.push(...from.open);
  to.fresh.push(...from.fresh);
}

const median = (times: readonly number[]) => quantile(times, 0.5);
