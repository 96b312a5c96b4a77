import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { SessionStatus } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { kubeconfigCredentials } from "../../../internal/kube/access/kubeconfig.ts";
import { calmTime } from "../../support/calm-time.ts";
import type { ApiAudit } from "../../support/cluster/api-audit.ts";
import { ChangingPods } from "../../support/cluster/changing-pods.ts";
import type { TestCluster } from "../../support/cluster/cluster.ts";
import { requireMade } from "../../support/cluster/components.ts";
import { ControllerCluster, type RunningReplica, startDemo } from "../../support/cluster/controller-cluster.ts";
import { leads } from "../../support/cluster/leads.ts";
import { sharedApiServer } from "../../support/cluster/shared-cluster.ts";
import { until } from "../../support/sidecar/sidecar.ts";

const LIMIT_MS = 240_000;
const LEASE_MS = 20_000;
const isFull = process.env["GT_E2E"] === "full";
/** The time for which the API server is away. */
const AWAY_MS = isFull ? 60_000 : 5_000;
const PROJECT_LIMIT = 20;

/**
 * In order: each test continues with the replicas that the previous one left. No pod runs here: the test covers the
 * controllers and the API server.
 */
describe("three replicas of the controller on a real API server", () => {
  let town: ControllerCluster | undefined;
  let cluster: TestCluster | undefined;
  let audit: ApiAudit;
  let replicas: (RunningReplica & { readonly account: string })[] = [];

  beforeAll(async () => {
    const given = sharedApiServer();
    if (given?.cluster.control === undefined) return;
    ({ cluster, audit } = given);
    town = await ControllerCluster.make(cluster, undefined, "replicas");
    const sessions = { retention: "5s", max_per_project: PROJECT_LIMIT };
    await town.configure("agent:1", sessions, { limits: { starts_per_minute: 10_000 } });
    const all = ["create", "clusterrolebinding", "replicas", "--clusterrole=cluster-admin"];
    await cluster.kubectl([...all, ...[0, 1, 2].map((i) => `--user=replica-${i}`)]);
    for (const i of [0, 1, 2]) await add(`replica-${i}`);
  }, LIMIT_MS);

  afterAll(async () => {
    await town?.[Symbol.asyncDispose]();
    await cluster?.kubectl(["delete", "clusterrolebinding", "replicas", "--ignore-not-found"]);
  }, LIMIT_MS);

  const here = (context: TestContext) =>
    requireMade(context, town, ["kubectl", "cluster"], "needs an API server of our own");
  async function add(account: string): Promise<void> {
    const replica = await (town as ControllerCluster).replica(account);
    replicas.push(Object.assign(replica, { account }));
  }
  const leader = async () =>
    await until(
      "a leader",
      2 * LEASE_MS,
      () => replicas.find(leads),
      () => replicas.map((each) => each.log()).join("\n"),
    );
  const ids = async ({ client }: RunningReplica) =>
    (await client.listSessions({})).sessions.map(({ sessionId }) => sessionId);
  const pods = async () => {
    const { cluster: found, agents } = town as ControllerCluster;
    const text = await found.kubectl(["-n", agents, "get", "pods", "-o", "json"]);
    return (JSON.parse(text).items as { spec: { schedulingGates?: unknown[] } }[]).map(({ spec }) => spec);
  };
  const secrets = async () => {
    const { cluster: found, agents } = town as ControllerCluster;
    return (await found.kubectl(["-n", agents, "get", "secrets", "-o", "name"])).split("\n").filter(Boolean);
  };
  const show = (line: string) => void (isFull && process.stderr.write(`${line}\n`));

  it("create one pod and one Secret from 100 calls for one session at all replicas", {
    timeout: LIMIT_MS,
  }, async (context) => {
    await here(context);
    const calls = Array.from({ length: 100 }, (_, i) => startDemo(replicas[i % 3] as RunningReplica, "one"));
    const outcomes = await Promise.allSettled(calls);
    const failed = outcomes.flatMap((each) => (each.status === "rejected" ? [String(each.reason)] : []));
    expect(failed).toEqual([]);
    const [[pod], names] = [await pods(), await secrets()];
    expect(pod?.schedulingGates).toBeUndefined();
    const certificates = names.filter((name) => !name.endsWith("-token"));
    expect([(await pods()).length, certificates.length, names.length - certificates.length]).toEqual([1, 1, 1]);
  });

  it("label the pod, its Secrets and the Lease as managed by gastown", {
    timeout: LIMIT_MS,
  }, async (context) => {
    const { cluster: found } = await here(context);
    const all = ["get", "pods,secrets,leases.coordination.k8s.io", "--all-namespaces", "-o", "name"];
    const names = await found.kubectl([...all, "-l", "app.kubernetes.io/managed-by=gastown"]);
    const kinds = names.split("\n").map((name) => name.replace(/\/.*/, ""));
    expect(new Set(kinds.filter(Boolean))).toEqual(new Set(["pod", "secret", "lease.coordination.k8s.io"]));
  });

  it("have another leader within 2 s after an orderly end, and answer reads throughout", {
    timeout: LIMIT_MS,
  }, async (context) => {
    await here(context);
    const first = await leader();
    const others = replicas.filter((each) => each !== first);
    const reading = readsWhile(others, async () => {
      await first.kill("SIGTERM");
      const passed = calmTime();
      replicas = others;
      await leader();
      const tookMs = passed();
      show(`graceful: another leader ${Math.round(tookMs)} ms after the end of the first`);
      expect(tookMs).toBeLessThan(2_000);
    });
    expect(await reading).toEqual([]);
    await add(first.account);
  });

  it("have another leader within 20 s after a crash, and answer reads throughout", {
    timeout: LIMIT_MS,
  }, async (context) => {
    await here(context);
    const first = await leader();
    const others = replicas.filter((each) => each !== first);
    const failed = await readsWhile(others, async () => {
      await first.kill("SIGKILL");
      const killedAt = performance.now();
      replicas = others;
      await leader();
      show(`crash: another leader after ${Math.round(performance.now() - killedAt)} ms`);
      expect(performance.now() - killedAt).toBeLessThan(LEASE_MS);
    });
    expect(failed).toEqual([]);
    await add(first.account);
  });

  it("prevent a suspended leader from writing when it continues", { timeout: LIMIT_MS }, async (context) => {
    const { cluster: found, agents } = await here(context);
    const first = await leader();
    // Work that becomes due while it sleeps: a stopped session's retention ends.
    await startDemo(first, "due");
    await first.client.stopSession({ sessionId: "due" });
    await first.kill("SIGSTOP");
    replicas = replicas.filter((each) => each !== first);
    const next = await leader();
    await found.kubectl(["-n", agents, "delete", "secrets", "--all"]);
    const wokeAt = Date.now();
    await first.kill("SIGCONT");
    await until("the first to step down", 10_000, () => !leads(first) || undefined, first.log);
    await sleep(3_000);
    const writes = (await audit.requests(first.account)).filter(
      ({ at, verb, resource }) => at >= wokeAt && !["get", "list", "watch"].includes(verb) && resource !== "leases",
    );
    expect(writes).toEqual([]);
    expect(leads(next)).toBe(true);
    replicas.push(first);
  });

  it("answer reads while the API server is down, write nothing twice, and follow it again", {
    timeout: LIMIT_MS,
  }, async (context) => {
    const { cluster: found } = await here(context);
    const replica = replicas[0] as RunningReplica;
    await startDemo(replica, "before");
    const known = await ids(replica);
    await found.control?.("crash", "apiserver");
    const awayAt = performance.now();
    try {
      while (performance.now() - awayAt < AWAY_MS) {
        expect(await ids(replica)).toEqual(known);
        await expect(startDemo(replica, "meanwhile")).rejects.toThrow();
        await sleep(500);
      }
    } finally {
      await found.control?.("start", "apiserver"); // the next suites use it too
    }
    const started = async () => await startDemo(replica, "meanwhile").catch(() => undefined);
    await until("a start", 90_000, started, replica.log);
    for (const each of replicas) {
      const knows = async () => ((await ids(each).catch((): string[] => [])).includes("meanwhile") ? true : undefined);
      await until("every replica to know it", 90_000, knows, each.log);
      expect(each.log()).not.toContain("the watch missed changes");
    }
    expect(await pods()).toHaveLength((await ids(replica)).length);
    await leader();
  });

  it("report a manually deleted pod within 2 s, and forget it", { timeout: LIMIT_MS }, async (context) => {
    const { cluster: found, agents } = await here(context);
    const replica = replicas[0] as RunningReplica;
    expect((await replica.client.getSession({ sessionId: "meanwhile" })).status).toBe(SessionStatus.STARTING);
    const pod = ["-n", agents, "delete", "pod", "-l", "gastown.io/session=meanwhile", "--grace-period=0", "--force"];
    await found.kubectl(pod);
    const deletedAt = performance.now();
    const isGone = async () => (await ids(replica)).includes("meanwhile") === false || undefined;
    await until("the session's end", 2_000, isGone, replica.log);
    show(`deleted pod: gone from ListSessions after ${Math.round(performance.now() - deletedAt)} ms`);
  });

  it("fill a project exactly to its limit with concurrent starts at all replicas", {
    timeout: LIMIT_MS,
  }, async (context) => {
    await here(context);
    const [{ length: before }, from] = [await ids(replicas[0] as RunningReplica), performance.now()];
    const calls = Array.from({ length: isFull ? 500 : 60 }, (_, i) =>
      startDemo(replicas[i % 3] as RunningReplica, `many-${i}`),
    );
    const outcomes = await Promise.allSettled(calls);
    show(`${calls.length} concurrent starts: ${Math.round(performance.now() - from)} ms`);
    const refused = outcomes.flatMap((each) => (each.status === "rejected" ? [ConnectError.from(each.reason)] : []));
    expect(new Set(refused.map(({ code }) => Code[code]))).toEqual(new Set(["ResourceExhausted"]));
    expect(await pods()).toHaveLength(PROJECT_LIMIT);
    expect(refused).toHaveLength(calls.length + before - PROJECT_LIMIT);
  });

  it("continue each other's pages of sessions", { timeout: LIMIT_MS }, async (context) => {
    await here(context);
    for (const replica of replicas) {
      const knowsAll = async () => (await ids(replica)).length === PROJECT_LIMIT || undefined;
      await until("every session at every replica", 10_000, knowsAll, replica.log);
    }
    const seen: string[] = [];
    for (let pages = 0, pageToken = ""; pages === 0 || pageToken !== ""; pages++) {
      const { client } = replicas[pages % 3] as RunningReplica;
      const page = await client.listSessions({ pageSize: 3, pageToken });
      seen.push(...page.sessions.map(({ sessionId }) => sessionId));
      pageToken = page.nextPageToken;
    }
    expect(seen).toEqual(await ids(replicas[0] as RunningReplica));
  });

  it("restart one by one while pods change, answer reads throughout, and miss no change", {
    timeout: LIMIT_MS,
  }, async (context) => {
    const { cluster: found, agents } = await here(context);
    const [model] = JSON.parse(await found.kubectl(["-n", agents, "get", "pods", "-o", "json"])).items;
    const access = await (await kubeconfigCredentials(found.kubeconfig)).access();
    await using changing = new ChangingPods(model, { access, namespaces: [agents] });
    await changing.make(isFull ? 5_000 : 500);
    const stop = new AbortController();
    const changes = changing.change(50, stop.signal);
    for (const old of [...replicas]) {
      replicas = replicas.filter((each) => each !== old);
      const failed = await readsWhile(replicas, async () => {
        await old.kill("SIGTERM");
        await add(old.account);
      });
      expect(failed).toEqual([]);
    }
    await leader();
    stop.abort();
    show(`restarts one after the other, ${Math.round(await changes)} changes a second`);
    for (const replica of replicas) {
      const hasSeen = async () => (await changing.unseenBy(replica)).length === 0 || undefined;
      await until("every change at every replica", 10_000, hasSeen, replica.log);
      expect(replica.log()).not.toContain("the watch missed changes");
    }
  });

  /** The messages of reads that failed while `work` ran. */
  async function readsWhile(of: readonly RunningReplica[], work: () => Promise<void>): Promise<readonly string[]> {
    const failed: string[] = [];
    let isOver = false;
    const readers = of.map(async (replica) => {
      for (; !isOver; await sleep(100)) await ids(replica).catch((err: unknown) => failed.push(String(err)));
    });
    await work().finally(() => {
      isOver = true;
    });
    await Promise.all(readers);
    return failed;
  }
});
