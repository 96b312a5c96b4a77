import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type Client, createClient } from "@connectrpc/connect";
import { DomainError } from "../../internal/base/errors.ts";
import { BridgeService } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import type { ChangingPods } from "../../test/support/cluster/changing-pods.ts";
import { AS_IN_THE_IMAGE } from "../../test/support/cluster/controller-cluster.ts";
import { makeCertificates } from "../certificates.ts";
import { startPeer } from "../peer.ts";
import { peakResidentMiB } from "../proc.ts";
import { type Measured, measured } from "../report/row.ts";
import { interleave, quantile } from "../stats.ts";
import type { ClusterBench } from "./cluster-bench.ts";
import { NAMESPACES, townOfPods } from "./town-of-pods.ts";

const EVENTS = 200;
const CALLS = 2_000;

interface Followed {
  readonly known: number;
  readonly syncMs: number;
  readonly stallMs: number;
  readonly heapMiB: number;
}

type Bridge = Client<typeof BridgeService>;

/** Measures thousands of pods: their first list, and resolving sessions among them. */
export async function measurePods(bench: ClusterBench): Promise<readonly Measured[]> {
  const { cluster, quick, say, note } = bench;
  const count = quick ? 1_000 : 10_000;
  say(`pods: making ${count}`);
  await using made = await townOfPods(bench, count);
  const { town, pods } = made;
  say("pods: following");
  const looks: Followed[] = [];
  for (let i = 0; i < 3; i++) looks.push(await follow(cluster.kubeconfig));
  const worst = (of: (look: Followed) => number) => Math.max(...looks.map(of));
  if (looks.some(({ known }) => known < count)) throw new DomainError("unavailable", "not all pods were seen");
  say("pods: resolving");
  const replica = await town.replica();
  const seen = await eventTimes(replica.client, pods, quick ? 30 : EVENTS);
  const { resolves, bare } = await resolveTimes(replica.client, bench, count);
  const lists = await times(20, () => replica.client.listSessions({ pageSize: 100 }));
  note(
    `Pods: ${count} objects of about 6 KiB in ${NAMESPACES.length} namespaces, held back by a gate, so that neither kubelet nor kwok is needed; synced, stall and heap are of a follower in a process of its own, the worst of three. GetSession takes turns with a Connect server that answers the same each time, over mTLS from the same client, without a token: its p99 is what the machine adds.`,
  );
  return [
    measured(
      `${count} pods: started to synced`,
      worst(({ syncMs }) => syncMs),
      "ms",
      { atMost: 5_000 },
    ),
    measured(
      `${count} pods: longest stall of the event loop, in processor time`,
      worst(({ stallMs }) => stallMs),
      "ms",
      { atMost: 200 },
    ),
    measured(`${count} pods: peak memory of a replica`, peakResidentMiB(replica.pid), "MiB", { atMost: 350 }),
    measured(
      `${count} pods: heap that stays`,
      worst(({ heapMiB }) => heapMiB),
      "MiB",
    ),
    measured(`${count} pods: pod made to resolvable, p50`, quantile(seen, 0.5), "ms"),
    measured(`${count} pods: pod made to resolvable, p99`, quantile(seen, 0.99), "ms", { atMost: 250 }),
    measured(`${count} pods: GetSession over mTLS, p50 (baseline: a bare server)`, quantile(resolves, 0.5), "ms", {
      baseline: quantile(bare, 0.5),
    }),
    measured(`${count} pods: GetSession over mTLS, p99 (baseline: a bare server)`, quantile(resolves, 0.99), "ms", {
      baseline: quantile(bare, 0.99),
      atMost: 5,
    }),
    measured(`${count} pods: ListSessions, a page of 100, p99`, quantile(lists, 0.99), "ms"),
  ];
}

async function follow(kubeconfig: string): Promise<Followed> {
  const program = join(import.meta.dirname, "follower.ts");
  const args = [...AS_IN_THE_IMAGE, program, kubeconfig, ...NAMESPACES];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 120_000 });
  return JSON.parse(stdout) as Followed;
}

/** The times from the API server's response to the first answer that knows the session, ms. */
async function eventTimes(client: Bridge, pods: ChangingPods, count: number): Promise<readonly number[]> {
  const all: number[] = [];
  for (let i = 0; i < count; i++) {
    const sessionId = await pods.makeOne();
    const from = performance.now();
    while (!(await client.getSession({ sessionId }).then(Boolean, () => false))) await sleep(1);
    all.push(performance.now() - from);
  }
  return all;
}

/** The times of the replica and of a server that does no work, measured alternately. */
async function resolveTimes(client: Bridge, { quick, signal }: ClusterBench, count: number) {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-pods-"));
  stack.defer(async () => await rm(dir, { recursive: true }));
  const { tlsDir, tls } = await makeCertificates(dir);
  const peer = stack.use(await startPeer("constant-bridge.ts", tlsDir));
  const bareConnection = stack.use(sidecarTransport({ baseUrl: `https://127.0.0.1:${peer.facts}`, tls }));
  const bareClient = createClient(BridgeService, bareConnection.transport);
  const [resolves, bare]: [number[], number[]] = [[], []];
  const timed = (to: Bridge, into: number[]) => async (round: number) => {
    const [took = 0] = await times(1, () => to.getSession({ sessionId: `copy-${round % count}` }));
    if (round >= 20) into.push(took); // the first ones warm up
  };
  await interleave((quick ? 200 : CALLS) + 20, [timed(client, resolves), timed(bareClient, bare)], signal);
  return { resolves, bare };
}

async function times(count: number, call: (i: number) => Promise<unknown>): Promise<readonly number[]> {
  const all: number[] = [];
  for (let i = 0; i < count; i++) {
    const from = performance.now();
    await call(i);
    all.push(performance.now() - from);
  }
  return all;
}
