import { setTimeout as sleep } from "node:timers/promises";
import type { ChangingPods } from "../../test/support/cluster/changing-pods.ts";
import type { ControllerCluster, RunningReplica } from "../../test/support/cluster/controller-cluster.ts";
import { leads } from "../../test/support/cluster/leads.ts";
import { until } from "../../test/support/sidecar/sidecar.ts";
import { peakResidentMiB } from "../proc.ts";
import { type Measured, measured } from "../report/row.ts";
import { quantile } from "../stats.ts";
import type { ClusterBench } from "./cluster-bench.ts";
import { NAMESPACES, townOfPods } from "./town-of-pods.ts";

const PER_SECOND = 50;
const STEADY_MS = 20_000;
/** The pause between a replica's readiness and the end of the next one. */
const BETWEEN_MS = 5_000;
/** The interval of one caller's reads at each replica. */
const READ_EACH_MS = 50;
/** One of this many new pods is polled until it is known: polling all of them would use up the processors. */
const PROBE_OF = 5;
const PROBE_EACH_MS = 5;
/** Shorter than the pod's life. */
const PROBE_MS = 15_000;
const MISSED = "the watch missed changes";

/** The callers' observations; `restart`: while a replica was ending or starting. */
interface Found {
  readonly reads: { readonly steady: number[]; readonly restart: number[] };
  readonly failed: string[];
  /** The times from the API server's response until each serving replica knows the new session. */
  readonly seen: number[];
}

/** The replicas of a Service: ending ones get no more calls, ready ones do. */
class Replicas {
  serving: RunningReplica[] = [];
  isRestarting = false;
  readonly peaks: number[] = [];
  readonly readyMs: number[] = [];
  readonly failoverMs: number[] = [];
  readonly #town: ControllerCluster;

  constructor(town: ControllerCluster) {
    this.#town = town;
  }

  async add(): Promise<void> {
    const from = performance.now();
    this.serving.push(await this.#town.replica());
    this.readyMs.push(performance.now() - from);
  }

  async leader(): Promise<void> {
    await until("a leader", 30_000, () => this.serving.some(leads) || undefined);
  }

  async restart(replica: RunningReplica): Promise<void> {
    this.isRestarting = true;
    this.serving = this.serving.filter((each) => each !== replica);
    this.peaks.push(peakResidentMiB(replica.pid));
    const didLead = leads(replica);
    await replica.kill("SIGTERM");
    const from = performance.now();
    if (didLead) {
      await this.leader();
      this.failoverMs.push(performance.now() - from);
    }
    await this.add();
    this.isRestarting = false;
  }
}

/** Measures a rolling restart of three replicas while thousands of pods change. */
export async function measureRolling(bench: ClusterBench): Promise<readonly Measured[]> {
  const { quick, say, note } = bench;
  const count = quick ? 500 : 10_000;
  say(`rolling: making ${count} pods`);
  await using bed = await townOfPods(bench, count);
  const { town, pods } = bed;
  const replicas = new Replicas(town);
  for (let i = 0; i < 3; i++) await replicas.add();
  await replicas.leader();
  const found: Found = { reads: { steady: [], restart: [] }, failed: [], seen: [] };
  const stop = new AbortController();
  const probes: Promise<void>[] = [];
  let made = 0;
  const changing = pods.change(PER_SECOND, stop.signal, (id) => {
    if (made++ % PROBE_OF === 0) probes.push(untilKnown(id, replicas, found));
  });
  const reading = [0, 1, 2].map((slot) => read(slot, count, replicas, found, stop.signal));
  say(`rolling: ${PER_SECOND} changes a second`);
  await sleep(quick ? 3_000 : STEADY_MS);
  for (const [i, replica] of [...replicas.serving].entries()) {
    say(`rolling: restart ${i + 1}`);
    await replicas.restart(replica);
    await sleep(quick ? 1_000 : BETWEEN_MS);
  }
  stop.abort();
  const reached = await changing;
  await Promise.all([...reading, ...probes]);
  for (const text of new Set(found.failed)) say(`rolling: ${text}`);
  const missed = await missedBy(replicas.serving, pods);
  note(
    `Rolling: ${count} pods in ${NAMESPACES.length} namespaces that no node takes, changed through the API server (three of five writes another status, one a new pod, one the end of such a pod), ${reached.toFixed(1)} writes a second reached; ${found.reads.steady.length} reads while three replicas serve, ${found.reads.restart.length} while one ends or starts, each at one that serves. Replicas, API server, etcd, writers and readers share the machine.`,
  );
  return rowsOf(`rolling, ${count} pods`, replicas, found, missed);
}

function rowsOf(name: string, { serving, peaks, readyMs, failoverMs }: Replicas, found: Found, missed: number) {
  const { reads, failed, seen } = found;
  const memory = Math.max(...peaks, ...serving.map(({ pid }) => peakResidentMiB(pid)));
  return [
    measured(`${name}: reads that failed`, failed.length, "reads", { atMost: 0 }),
    measured(`${name}: changes that a replica missed`, missed, "changes", { atMost: 0 }),
    measured(`${name}: pod made to resolvable at every replica, p50`, quantile(seen, 0.5), "ms", { atMost: 20 }),
    measured(`${name}: pod made to resolvable at every replica, p99`, quantile(seen, 0.99), "ms", { atMost: 250 }),
    measured(`${name}: GetSession while three serve, p99`, quantile(reads.steady, 0.99), "ms", { atMost: 5 }),
    measured(`${name}: GetSession while one restarts, p50`, quantile(reads.restart, 0.5), "ms"),
    measured(`${name}: GetSession while one restarts, p99`, quantile(reads.restart, 0.99), "ms", { atMost: 5 }),
    measured(`${name}: process start of a replica to ready, longest`, Math.max(...readyMs), "ms", { atMost: 5_000 }),
    measured(`${name}: end of the leader to another, longest`, Math.max(...failoverMs), "ms", { atMost: 2_000 }),
    measured(`${name}: peak memory of a replica`, memory, "MiB", { atMost: 350 }),
  ];
}

async function read(slot: number, count: number, replicas: Replicas, found: Found, signal: AbortSignal) {
  for (let call = slot; !signal.aborted; call += 7) {
    const { serving, isRestarting } = replicas;
    const replica = serving[slot % serving.length];
    const from = performance.now();
    try {
      await replica?.client.getSession({ sessionId: `copy-${call % count}` });
      found.reads[isRestarting ? "restart" : "steady"].push(performance.now() - from);
    } catch (err) {
      found.failed.push(String(err));
    }
    await sleep(READ_EACH_MS);
  }
}

async function untilKnown(sessionId: string, replicas: Replicas, { seen }: Found): Promise<void> {
  const from = performance.now();
  const known = replicas.serving.map(async (replica) => {
    const knows = () => replica.client.getSession({ sessionId }).then(Boolean, () => false);
    const isOver = () => !replicas.serving.includes(replica) || performance.now() - from > PROBE_MS;
    while (!(await knows()) && !isOver()) await sleep(PROBE_EACH_MS);
  });
  await Promise.all(known);
  seen.push(performance.now() - from);
}

/**
 * Counts, over all replicas and 10 s after the last change, the sessions that a replica does not know, plus the
 * replicas whose own audit reports a miss.
 */
async function missedBy(serving: readonly RunningReplica[], pods: ChangingPods): Promise<number> {
  await sleep(10_000);
  let missed = 0;
  for (const replica of serving) {
    missed += (await pods.unseenBy(replica)).length;
    if (replica.log().includes(MISSED)) missed++;
  }
  return missed;
}
