import { setTimeout as sleep } from "node:timers/promises";
import { WatchMode } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { ControllerCluster, type RunningReplica } from "../../test/support/cluster/controller-cluster.ts";
import { until } from "../../test/support/sidecar/sidecar.ts";
import { liveHeapMiB } from "../live-heap.ts";
import { cpuMs } from "../proc.ts";
import { type Measured, measured } from "../report/row.ts";
import { interleave, quantile } from "../stats.ts";
import type { ClusterBench } from "./cluster-bench.ts";
import { liveSession } from "./live-session.ts";

const STREAMS = 200;
/**
 * After this many calls, the code of the programs at both ends is compiled; the program in between has more code and
 * needs more calls.
 */
const WARM_UP = 1_000;
/** A fixed port: no other program is in the network of this measurement. */
const INSPECTOR = 9_229;
/** 1 KiB, ten times a second. */
const PANE = "while :; do head -c 1023 /dev/zero | tr '\\0' x; echo; sleep 0.1; done";

/** Measures the controller's cost between a caller and a sidecar, over mTLS on both sides. */
export async function measureHop({
  cluster,
  quick,
  signal,
  say,
  note,
  stopScheduler,
}: ClusterBench): Promise<readonly Measured[]> {
  await using stack = new AsyncDisposableStack();
  await stopScheduler();
  const town = stack.use(await ControllerCluster.make(cluster, undefined));
  await town.configure("agent:1", {});
  const replica = stack.use(await town.replica());
  const still = stack.use(await liveSession(town, replica, 0));
  say("hop: Peek");
  const [through, direct]: [number[], number[]] = [[], []];
  const request = { lines: 50 };
  const timed = async (call: () => Promise<unknown>, into: number[], round: number) => {
    const from = performance.now();
    await call();
    if (round >= (quick ? 20 : WARM_UP)) into.push(performance.now() - from);
  };
  await interleave(
    quick ? 120 : WARM_UP + 3_000,
    [
      (round) => timed(() => replica.client.peek({ sessionId: still.id, request }), through, round),
      (round) => timed(() => still.direct.peek(request), direct, round),
    ],
    signal,
  );
  say("hop: streams");
  const chatty = stack.use(
    await liveSession(town, replica, 1, () => ({ agent: "generic", command: ["sh", "-c", PANE] })),
  );
  const { cpu, delivered } = await withStreams(replica, chatty.id, async (updates) => {
    const [cpuFrom, updatesFrom] = [cpuMs(replica.pid), updates()];
    await sleep(quick ? 5_000 : 20_000);
    return { cpu: cpuMs(replica.pid) - cpuFrom, delivered: updates() - updatesFrom };
  });
  say("hop: memory");
  const other = stack.use(await inspected(town));
  const answers = () => other.client.peek({ sessionId: chatty.id, request }).catch(() => undefined);
  await until("an answer of the other replica", 30_000, answers, other.log);
  // Code and data that the first streams load stay in memory, and are not part of the memory of a stream.
  await withStreams(other, chatty.id, async () => {});
  const before = await liveHeapMiB(INSPECTOR);
  const memory = await withStreams(other, chatty.id, async () => {
    const looks: number[] = [];
    while (looks.push(await liveHeapMiB(INSPECTOR)) < 5) await sleep(1_000);
    return Math.min(...looks) - before;
  });
  note(
    `Hop: one replica, one caller's connection, ${WARM_UP} Peeks of each kind before those that count; memory of another replica; ${delivered} updates of 1 KiB over ${STREAMS} streams of one session, each with a stream of its own to the sidecar. Memory is what is alive in the process after a collection, its buffers included, beside what was alive after as many streams before; the least of five looks, because what is under way at that moment lies on top.`,
  );
  return [
    measured("hop: Peek, 50 lines, p50 (baseline: direct)", quantile(through, 0.5), "ms", {
      baseline: quantile(direct, 0.5),
      ratioAtMost: 2.5,
    }),
    measured("hop: Peek, 50 lines, p99 (baseline: direct)", quantile(through, 0.99), "ms", {
      baseline: quantile(direct, 0.99),
    }),
    measured(`hop: CPU of an update of 1 KiB, ${STREAMS} streams`, (cpu * 1_000) / delivered, "µs", { atMost: 50 }),
    measured(`hop: live memory of a stream, ${STREAMS} streams`, (memory * 1_024) / STREAMS, "KiB", { atMost: 60 }),
  ];
}

/**
 * Runs `work` while `STREAMS` callers watch the session, ten seconds after they began. `updates`: the number of updates
 * that they have received.
 */
async function withStreams<T>(
  replica: RunningReplica,
  sessionId: string,
  work: (updates: () => number) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  let updates = 0;
  const watch = async () => {
    const watched = { sessionId, request: { mode: WatchMode.RAW } };
    for await (const update of replica.client.watchOutput(watched, { signal: stop.signal })) if (update) updates++;
  };
  const watching = Array.from({ length: STREAMS }, () => watch().catch(() => {}));
  await sleep(10_000);
  try {
    return await work(() => updates);
  } finally {
    stop.abort();
    await Promise.all(watching);
  }
}

/** A replica whose heap can be inspected. The inspector costs it a quarter more CPU for each update. */
async function inspected(town: ControllerCluster): Promise<RunningReplica> {
  process.env["NODE_OPTIONS"] = `--inspect=127.0.0.1:${INSPECTOR}`;
  try {
    return await town.replica();
  } finally {
    delete process.env["NODE_OPTIONS"];
  }
}
