import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { Client } from "@connectrpc/connect";
import { Agent } from "undici";
import { DomainError } from "../../internal/base/errors.ts";
import type { BridgeService } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { ControllerCluster } from "../../test/support/cluster/controller-cluster.ts";
import { type Measured, measured } from "../report/row.ts";
import { quantile } from "../stats.ts";
import type { ClusterBench } from "./cluster-bench.ts";

const NAMESPACES = ["town-agents", "pods-2", "pods-3", "pods-4"];
/** Of the annotation that makes pods as large as those of a cluster with its service meshes: 6 KiB of JSON each. */
const FILLER = 3_000;
/** Dockerfile.controller starts the controller with it. */
const AS_IN_THE_IMAGE = "--max-semi-space-size=4";
const CREATORS = 12;
const EVENTS = 200;
const CALLS = 2_000;

interface Followed {
  readonly known: number;
  readonly syncMs: number;
  readonly stallMs: number;
  readonly maxRssMiB: number;
  readonly heapMiB: number;
}

type Bridge = Client<typeof BridgeService>;

/** Thousands of pods: the first look at them, and sessions resolved while they are there. */
export async function measurePods(bench: ClusterBench): Promise<readonly Measured[]> {
  const { cluster, quick, say, note } = bench;
  const count = quick ? 1_000 : 10_000;
  await using town = await ControllerCluster.make(cluster, undefined);
  for (const name of NAMESPACES.slice(1)) await cluster.kubectl(["create", "namespace", name]);
  const namespaces = NAMESPACES.map((name) => ({ name, project: "shop", plaintext: true }));
  const limits = { limits: { starts_per_minute: 100_000 } };
  await town.configure("agent:1", { max_per_project: 20_000, max_global: 20_000 }, { namespaces, ...limits });
  const maker = await PodMaker.like(await modelPod(town, bench), bench);
  say(`pods: making ${count}`);
  await maker.make(count);
  say("pods: following");
  const looks: Followed[] = [];
  for (let i = 0; i < 3; i++) looks.push(await follow(cluster.kubeconfig));
  const worst = (of: (look: Followed) => number) => Math.max(...looks.map(of));
  if (looks.some(({ known }) => known < count)) throw new DomainError("unavailable", "not all pods were seen");
  say("pods: resolving");
  const replica = await town.replica();
  const seen = await eventTimes(replica.client, maker, quick ? 30 : EVENTS);
  const resolves = await times(quick ? 200 : CALLS, (i) =>
    replica.client.getSession({ sessionId: `bench-${i % count}` }),
  );
  const lists = await times(20, () => replica.client.listSessions({ pageSize: 100 }));
  note(
    `Pods: ${count} objects of about 6 KiB in ${NAMESPACES.length} namespaces, held back by a gate, so that neither kubelet nor kwok is needed; the follower is a process of its own, the worst of three.`,
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
    measured(
      `${count} pods: peak memory of the process`,
      worst(({ maxRssMiB }) => maxRssMiB),
      "MiB",
      { atMost: 350 },
    ),
    measured(
      `${count} pods: heap that stays`,
      worst(({ heapMiB }) => heapMiB),
      "MiB",
    ),
    measured(`${count} pods: pod made to resolvable, p50`, quantile(seen, 0.5), "ms"),
    measured(`${count} pods: pod made to resolvable, p99`, quantile(seen, 0.99), "ms", { atMost: 250 }),
    measured(`${count} pods: GetSession over mTLS, p50`, quantile(resolves, 0.5), "ms"),
    measured(`${count} pods: GetSession over mTLS, p99`, quantile(resolves, 0.99), "ms", { atMost: 5 }),
    measured(`${count} pods: ListSessions, a page of 100, p99`, quantile(lists, 0.99), "ms"),
  ];
}

/** A pod as a replica makes it. */
async function modelPod(town: ControllerCluster, { cluster }: ClusterBench): Promise<object> {
  await using replica = await town.replica();
  await replica.client.startSession({
    projectId: "shop",
    sessionId: "model",
    provider: "demo",
    repoPath: "/workspace",
  });
  const get = ["-n", town.agents, "get", "pod", "-l", "gastown.io/session=model", "-o", "json"];
  const [pod] = JSON.parse(await cluster.kubectl(get)).items;
  return pod;
}

async function follow(kubeconfig: string): Promise<Followed> {
  const program = join(import.meta.dirname, "follower.ts");
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [AS_IN_THE_IMAGE, program, kubeconfig, ...NAMESPACES],
    {
      timeout: 120_000,
    },
  );
  return JSON.parse(stdout) as Followed;
}

/** Milliseconds from the API server's answer to the first answer that knows the session. */
async function eventTimes(client: Bridge, maker: PodMaker, count: number): Promise<readonly number[]> {
  const all: number[] = [];
  for (let i = 0; i < count; i++) {
    const sessionId = await maker.one();
    const from = performance.now();
    while (!(await client.getSession({ sessionId }).then(Boolean, () => false))) await sleep(1);
    all.push(performance.now() - from);
  }
  return all;
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

interface Pod {
  readonly metadata: { readonly labels: object; readonly annotations: Readonly<Record<string, string>> };
  readonly spec: object;
}

/** Makes copies of a pod under other sessions' names. */
class PodMaker {
  readonly #pod: Pod;
  readonly #bench: ClusterBench;
  readonly #agent: Agent;
  #next = 0;

  private constructor(pod: Pod, bench: ClusterBench) {
    this.#pod = pod;
    this.#bench = bench;
    this.#agent = new Agent({ connections: CREATORS, connect: bench.access.tls });
  }

  static async like(pod: object, bench: ClusterBench): Promise<PodMaker> {
    return new PodMaker(pod as Pod, bench);
  }

  async make(count: number): Promise<void> {
    const end = this.#next + count;
    const work = async () => {
      while (this.#next < end) await this.one();
    };
    await Promise.all(Array.from({ length: CREATORS }, work));
  }

  /** The session's id. */
  async one(): Promise<string> {
    const i = this.#next++;
    const sessionId = `bench-${i}`;
    const { metadata, spec } = this.#pod;
    const annotations = { ...metadata.annotations, "gastown.io/session-id": sessionId, filler: "x".repeat(FILLER) };
    const labels = { ...metadata.labels, "gastown.io/session": sessionId, "gastown.io/agent": sessionId };
    const body = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: sessionId, labels, annotations },
      spec: { ...spec, schedulingGates: [{ name: "example.org/never" }] },
    };
    const namespace = NAMESPACES[i % NAMESPACES.length] ?? "";
    const { server, headers } = this.#bench.access;
    const { statusCode, body: answer } = await this.#agent.request({
      origin: server,
      path: `/api/v1/namespaces/${namespace}/pods`,
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (statusCode !== 201)
      throw new DomainError("unavailable", `cannot make a pod: ${statusCode} ${text.slice(0, 300)}`);
    return sessionId;
  }
}
