import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { Agent } from "undici";
import { DomainError } from "../../internal/base/errors.ts";
import { SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { ControllerCluster, type RunningReplica } from "../../test/support/cluster/controller-cluster.ts";
import { until } from "../../test/support/sidecar/sidecar.ts";
import { residentMiB } from "../proc.ts";
import { type Measured, measured } from "../report/row.ts";
import { quantile } from "../stats.ts";
import type { ClusterBench } from "./cluster-bench.ts";
import type { SidecarPlace } from "./sidecar-host.ts";

const PROCESSES = 4;
const AT_A_TIME = 8;
/** The streams over one connection of the caller. */
const STREAMS = 100;
const PAGE = 1_000;
const LISTS = 200;

interface Meta {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
}
interface Pod extends Meta {
  readonly spec: {
    readonly containers: readonly { readonly name: string; readonly image: string }[];
    readonly volumes: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
  };
}
interface Secret extends Meta {
  readonly data: Readonly<Record<string, string>>;
}

/** Measures a thousand sidecars as gt-sidecar serves them, in a few processes, behind one replica and then another. */
export async function measureSidecars(bench: ClusterBench): Promise<readonly Measured[]> {
  const { cluster, quick, say, note } = bench;
  const count = quick ? 100 : 1_000;
  await using stack = new AsyncDisposableStack();
  await bench.stopScheduler();
  const town = stack.use(await ControllerCluster.make(cluster, undefined));
  const limits = { limits: { starts_per_minute: 100_000 }, session_tokens: undefined };
  const namespaces = [{ name: town.agents, project: "shop" }];
  await town.configure("agent:1", { max_per_project: 2_000, max_global: 2_000 }, { ...limits, namespaces });
  const first = stack.use(await town.replica());
  const before = residentMiB(first.pid);
  say(`sidecars: starting ${count} sessions`);
  const ids = Array.from({ length: count }, (_, i) => `many-${i}`);
  await inTurns(ids, (sessionId) =>
    first.client.startSession({ projectId: "shop", sessionId, provider: "demo", repoPath: "/workspace" }),
  );
  const api = new KubeCalls(bench, town.agents);
  const dir = await mkdtemp(join(tmpdir(), "gt-sidecars-"));
  stack.defer(async () => await rm(dir, { recursive: true }));
  const pods = await api.list<Pod>("pods");
  const places = await placesOf(pods, await api.list<Secret>("secrets"), dir);
  say(`sidecars: serving in ${PROCESSES} processes`);
  const hosts = await Promise.all(Array.from({ length: PROCESSES }, (_, i) => host(places, i, dir)));
  stack.defer(() => {
    for (const each of hosts) each.kill("SIGKILL");
  });
  await inTurns(pods, (pod) => api.runs(pod, places.get(pod.metadata.name)?.ip ?? ""));
  await allRun(first, count);
  const memory = residentMiB(first.pid) - before;
  say("sidecars: listing");
  const lists = await times(LISTS, () => first.client.listSessions({ pageSize: PAGE }));
  say("sidecars: another replica");
  const second = stack.use(await town.replica());
  const from = performance.now();
  await allRun(second, count);
  const storm = performance.now() - from;
  say("sidecars: streams");
  const streams = await cutStreams(second, ids, hosts);
  for (const [id, why] of streams.wrong) say(`sidecars: ${id}: ${why}`);
  note(
    `Sidecars: ${count}, in ${PROCESSES} processes (service, log, journal and TLS of gt-sidecar; the terminal is written by the process), pods held by no node; one API server. A replica that comes new asks each of them once; memory is the resident memory of the first replica, by session, with a connection to each. Streams: one for each session over ${Math.ceil(count / STREAMS)} connections, while all sidecars serve anew at once; a reader that is refused comes back.`,
  );
  return [
    measured(`${count} sidecars: ListSessions, all in one page, p50`, quantile(lists, 0.5), "ms"),
    measured(`${count} sidecars: ListSessions, all in one page, p99`, quantile(lists, 0.99), "ms"),
    measured(`${count} sidecars: memory of a session in the replica`, (memory * 1_024) / count, "KiB"),
    measured(`${count} sidecars: a new replica is ready until it has asked each`, storm, "ms"),
    measured(`${count} sidecars: all serve again until each stream goes on, p50`, quantile(streams.ms, 0.5), "ms"),
    measured(`${count} sidecars: all serve again until each stream goes on, p99`, quantile(streams.ms, 0.99), "ms"),
    measured(`${count} sidecars: streams with an unreported gap, or refused otherwise`, streams.wrong.size, "streams", {
      atMost: 0,
    }),
  ];
}

/** Measures the time from the end of all serving halves until each session's stream has a new event. */
async function cutStreams(replica: RunningReplica, ids: readonly string[], hosts: readonly ChildProcess[]) {
  const seen = new Map<string, number>();
  const wrong = new Map<string, string>();
  const stop = new AbortController();
  using connections = new DisposableStack();
  const clients = ids.flatMap((_, i) => (i % STREAMS === 0 ? [connections.use(replica.connect()).client] : []));
  const follow = async (sessionId: string, i: number) => {
    const client = clients[Math.floor(i / STREAMS)];
    let [afterSeq, epoch] = [0n, ""];
    while (client !== undefined && !stop.signal.aborted) {
      const place = epoch === "" ? {} : { afterSeq, epoch };
      try {
        for await (const event of client.streamEvents({ sessionId, ...place }, { signal: stop.signal })) {
          const isNext = afterSeq === 0n || event.seq === afterSeq + 1n || event.epoch !== epoch;
          if (!isNext && event.gap === undefined) wrong.set(sessionId, `${event.seq} after ${afterSeq}`);
          [afterSeq, epoch] = [event.seq, event.epoch];
          seen.set(sessionId, performance.now());
        }
      } catch (err) {
        // A sidecar that does not answer for 15 s ends the stream: its readers reconnect and resume.
        if (!stop.signal.aborted && ConnectError.from(err).code !== Code.Unavailable) wrong.set(sessionId, String(err));
      }
      await sleep(100);
    }
  };
  const following = ids.map(follow);
  await until("an event of each", 300_000, () => seen.size === ids.length || undefined);
  await sleep(3_000);
  const from = performance.now();
  for (const each of hosts) each.kill("SIGUSR2");
  const isBack = () => ids.every((id) => (seen.get(id) ?? 0) > from) || undefined;
  await until("each stream to go on", 300_000, isBack);
  stop.abort();
  await Promise.all(following);
  return { ms: ids.map((id) => (seen.get(id) ?? from) - from), wrong };
}

/**
 * Makes a folder for each session with the files of its Secret. Returns the folders and addresses by the pod's name.
 */
async function placesOf(pods: readonly Pod[], secrets: readonly Secret[], dir: string) {
  const data = new Map(secrets.map((secret) => [secret.metadata.name, secret.data]));
  const places = new Map<string, SidecarPlace>();
  for (const [i, { metadata, spec }] of pods.entries()) {
    const id = metadata.annotations?.["gastown.io/session-id"] ?? "";
    const place = { id, ip: `127.${100 + (process.pid % 100)}.${i >> 7}.${(i & 127) + 1}`, dir: join(dir, String(i)) };
    await mkdir(join(place.dir, "tls"), { recursive: true, mode: 0o700 });
    const name = spec.volumes.find((one) => one.name === "tls")?.secret?.secretName ?? "";
    for (const [file, base64] of Object.entries(data.get(name) ?? {}))
      await writeFile(join(place.dir, "tls", file), Buffer.from(base64, "base64"), { mode: 0o600 });
    places.set(metadata.name, place);
  }
  return places;
}

/** Starts a process for every fourth sidecar, from `index` on; resolves once the process serves. */
async function host(places: ReadonlyMap<string, SidecarPlace>, index: number, dir: string): Promise<ChildProcess> {
  const file = join(dir, `places-${index}.json`);
  await writeFile(file, JSON.stringify([...places.values()].filter((_, i) => i % PROCESSES === index)));
  const program = join(import.meta.dirname, "sidecar-host.ts");
  const child = spawn(process.execPath, [program, file], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

async function allRun({ client, log }: RunningReplica, count: number): Promise<void> {
  const running = async () => {
    const listed = await client.listSessions({ pageSize: PAGE, status: [SessionStatus.RUNNING] }).catch(unavailable);
    return listed?.sessions.length === count || undefined;
  };
  await until(`${count} running sessions`, 600_000, running, () => log().slice(-2_000));
}

/** Ignores errors after which a caller retries. */
function unavailable(err: unknown): undefined {
  if (ConnectError.from(err).code !== Code.Unavailable) throw err;
}

async function inTurns<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const left = all.values();
  const worker = async () => {
    for (const one of left) await work(one);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
}

async function times(count: number, call: () => Promise<unknown>): Promise<readonly number[]> {
  const all: number[] = [];
  for (let i = 0; i < count; i++) {
    const from = performance.now();
    await call();
    all.push(performance.now() - from);
  }
  return all;
}

/**
 * Calls the Kubernetes API in one namespace: starting `kubectl` for each call would take longer than the call itself.
 */
class KubeCalls {
  readonly #bench: ClusterBench;
  readonly #namespace: string;
  readonly #agent: Agent;

  constructor(bench: ClusterBench, namespace: string) {
    this.#bench = bench;
    this.#namespace = namespace;
    this.#agent = new Agent({ connections: AT_A_TIME, connect: bench.access.tls });
  }

  async list<T>(what: string): Promise<readonly T[]> {
    return (JSON.parse(await this.#call("GET", what)) as { readonly items: readonly T[] }).items;
  }

  /** Reports, in place of a kubelet, that the pod runs at this address. */
  async runs({ metadata, spec }: Pod, podIP: string): Promise<void> {
    const state = { running: { startedAt: new Date().toISOString() } };
    const more = { imageID: "", ready: true, started: true, restartCount: 0, state };
    const containerStatuses = spec.containers.map(({ name, image }) => ({ name, image, ...more }));
    const conditions = [{ type: "Ready", status: "True" }];
    const status = { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions, containerStatuses };
    await this.#call("PATCH", `pods/${metadata.name}/status`, { status });
  }

  async #call(method: "GET" | "PATCH", path: string, body?: object): Promise<string> {
    const { server, headers } = this.#bench.access;
    const answer = await this.#agent.request({
      origin: server,
      path: `/api/v1/namespaces/${this.#namespace}/${path}`,
      method,
      headers: { ...headers, "content-type": "application/merge-patch+json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode === 200) return text;
    throw new DomainError("unavailable", `cannot ${method} ${path}: ${answer.statusCode} ${text.slice(0, 300)}`);
  }
}
