import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { seeded } from "../../../bench/stats.ts";
import { SessionStatus } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { kubeconfigCredentials } from "../../../internal/kube/access/kubeconfig.ts";
import { type TestCluster, untilInCluster } from "../../support/cluster/cluster.ts";
import { requireMade } from "../../support/cluster/components.ts";
import { ControllerCluster, type RunningReplica, startDemo } from "../../support/cluster/controller-cluster.ts";
import { FaultyApi } from "../../support/cluster/faulty-api.ts";
import { sharedApiServer } from "../../support/cluster/shared-cluster.ts";
import { until } from "../../support/sidecar/sidecar.ts";

const LIMIT_MS = 900_000;
const FAULTS_MS = process.env["GT_E2E"] === "full" ? 300_000 : 20_000;
/** The share of requests to the API server that fail. */
const SHARE = 0.3;
const SEED = Number(process.env["GT_SEED"] ?? 20_261_122);

/** No pod runs here: the test covers controllers and the API server. */
describe(`two replicas behind an API server with random faults (GT_SEED=${SEED})`, () => {
  let town: ControllerCluster | undefined;
  let api: FaultyApi;
  let dir = "";
  let replicas: RunningReplica[] = [];

  beforeAll(async () => {
    const found = sharedApiServer()?.cluster;
    if (found === undefined) return;
    api = await FaultyApi.before(await (await kubeconfigCredentials(found.kubeconfig)).access(), seeded(SEED));
    dir = await mkdtemp(join(tmpdir(), "gt-faults-"));
    const kubeconfig = join(dir, "kubeconfig.json");
    await writeFile(kubeconfig, JSON.stringify(kubeconfigFor(api.url)));
    const { control, kubectl, load, forward } = bound(found);
    const none = async () => {};
    const behind = { kubeconfig, control, kubectl, load, forward, [Symbol.asyncDispose]: none };
    town = await ControllerCluster.make(behind, undefined, "faults");
    const limits = { limits: { starts_per_minute: 10_000 } };
    await town.configure("agent:1", { retention: "1s", max_per_project: 1_000, max_global: 1_000 }, limits);
    replicas = [await town.replica(), await town.replica()];
  }, LIMIT_MS);

  afterAll(async () => {
    await town?.[Symbol.asyncDispose]();
    await api?.[Symbol.asyncDispose]();
    if (dir !== "") await rm(dir, { recursive: true, force: true });
  }, LIMIT_MS);

  const here = (context: TestContext) => requireMade(context, town, ["kubectl", "cluster"], "needs an API server");
  const stop = ({ client }: RunningReplica, sessionId: string) => client.stopSession({ sessionId });
  const each = (i: number) => replicas[i % replicas.length] as RunningReplica;
  const logs = () => `${JSON.stringify([...api.counts])}\n${replicas.map(({ log }) => log().slice(-3_000)).join("\n")}`;
  const inCluster = async (what: "pods" | "secrets") => {
    const { cluster: found, agents } = town as ControllerCluster;
    const { items } = JSON.parse(await found.kubectl(["-n", agents, "get", what, "-o", "json"]));
    return items as { metadata: { name: string }; spec?: { schedulingGates?: object[] } }[];
  };
  const ids = async ({ client }: RunningReplica) => {
    const { sessions } = await client.listSessions({ pageSize: 1_000 });
    return sessions.filter(({ status }) => status !== SessionStatus.STOPPED).map(({ sessionId }) => sessionId);
  };

  it("start and stop what they report, whatever happens to their calls, and miss no event", {
    timeout: LIMIT_MS,
  }, async (context) => {
    await here(context);
    const wanted = new Map<string, "started" | "stopped">();
    const refusals = new Set<string>();
    api.share = SHARE;
    const end = performance.now() + FAULTS_MS;
    for (let i = 0; performance.now() < end; i++) {
      const id = `s${i}`;
      await attempt(
        () => startDemo(each(i), id),
        () => wanted.set(id, "started"),
      );
      const last = `s${i - 1}`;
      if (i % 3 === 2 && wanted.has(last))
        await attempt(
          () => stop(each(i - 1), last),
          () => wanted.set(last, "stopped"),
        );
      if (i % 5 === 4)
        await attempt(
          () => each(i).client.listSessions({}),
          () => {},
        );
      await sleep(50);
    }
    api.share = 0;
    expect([...refusals], logs()).toEqual([]);
    for (const id of wanted.keys()) {
      if (wanted.get(id) === "started")
        await until(`${id} to start`, 90_000, () => again(() => startDemo(each(0), id)), logs);
    }
    const live = [...wanted].filter(([, state]) => state === "started").map(([id]) => id);
    for (const replica of replicas) {
      const knows = async () => (live.every((id) => known.includes(id)) && known.length >= live.length) || undefined;
      let known: readonly string[] = [];
      const read = async () => {
        known = await ids(replica);
        return await knows();
      };
      await until("each replica to know them", 90_000, read, logs);
    }
    const isWhole = async () => {
      const [pods, secrets] = [await inCluster("pods"), await inCluster("secrets")];
      const gated = pods.filter(({ spec }) => (spec?.schedulingGates ?? []).length > 0);
      return (gated.length === 0 && secrets.length === 2 * pods.length && pods.length >= live.length) || undefined;
    };
    await untilInCluster("a Secret and a token of each pod, and no pod held back", 120_000, isWhole, logs);
    for (const id of await ids(each(0))) await stop(each(0), id);
    const isEmpty = async () =>
      (await inCluster("pods")).length + (await inCluster("secrets")).length === 0 || undefined;
    await untilInCluster("nothing to be left", 120_000, isEmpty, logs);
    for (const { log } of replicas) expect(log()).not.toMatch(/the watch missed changes|"msg":"bug|unhandled/);

    /** Makes a call that may fail because of the API server, and for no other reason. */
    async function attempt(call: () => Promise<unknown>, done: () => void): Promise<void> {
      try {
        await call();
        done();
      } catch (err) {
        const { code, message } = ConnectError.from(err);
        if (![Code.Unavailable, Code.DeadlineExceeded].includes(code)) refusals.add(message);
      }
    }
  });
});

async function again(call: () => Promise<unknown>): Promise<true | undefined> {
  return await call().then(
    () => true,
    () => undefined,
  );
}

function bound(cluster: TestCluster): Pick<TestCluster, "control" | "kubectl" | "load" | "forward"> {
  return {
    control: cluster.control,
    kubectl: (args, input) => cluster.kubectl(args, input),
    load: (archive, image) => cluster.load(archive, image),
    forward: (pod, port, ...args) => cluster.forward(pod, port, ...args),
  };
}

function kubeconfigFor(server: string): object {
  const name = "faulty";
  return {
    ...{ apiVersion: "v1", kind: "Config", "current-context": name },
    contexts: [{ name, context: { cluster: name, user: name } }],
    clusters: [{ name, cluster: { server } }],
    users: [{ name, user: {} }],
  };
}
