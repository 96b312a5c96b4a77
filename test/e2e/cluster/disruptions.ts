import { expect, it, type TestContext } from "vitest";
import { SessionStatus } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import type { TestCluster } from "../../support/cluster/cluster.ts";
import type { ControllerCluster, RunningReplica } from "../../support/cluster/controller-cluster.ts";
import { reaches } from "../../support/cluster/two-replicas.ts";
import { until } from "../../support/sidecar/sidecar.ts";

const LIMIT_MS = 300_000;
const WAIT_MS = 60_000;
/** `npm run e2e` runs all of it. */
const isFull = process.env["GT_E2E"] === "full";
/** A resource of which the node has one unit, so that a pod with a higher priority takes it from an agent. */
const SLOT = "example.org/slot";

interface Pair {
  here(context: TestContext): Promise<ControllerCluster>;
  readonly first: RunningReplica;
  readonly second: RunningReplica;
}

/** Tests of a cluster's disruptions of agents' pods, for a `describe` with two replicas. */
export function disruptions(pair: Pair): void {
  const run = (provider: string, sessionId: string) =>
    pair.first.client.startSession({ projectId: "shop", sessionId, provider, repoPath: "/workspace" });

  it("reports that a LimitRange rejects the pod", { timeout: LIMIT_MS }, async (context) => {
    const { cluster, agents } = await pair.here(context);
    const limits = [{ type: "Container", max: { memory: "1Mi" } }];
    const range = { apiVersion: "v1", kind: "LimitRange", metadata: { name: "tiny" }, spec: { limits } };
    await cluster.kubectl(["-n", agents, "create", "-f", "-"], JSON.stringify(range));
    try {
      await expect(run("demo", "limited")).rejects.toThrow("maximum memory usage per Container is 1Mi");
    } finally {
      await cluster.kubectl(["-n", agents, "delete", "limitrange", "tiny"]);
    }
  });
  if (!isFull) return;

  it.for([
    ["drained", "EvictionByEvictionAPI", drain],
    ["preempted", "PreemptionByScheduler", preempt],
  ] as const)(
    "reports that a session was %s, with the cluster's reason %s",
    { timeout: LIMIT_MS },
    async ([sessionId, reason, disrupt], context) => {
      const { cluster } = await pair.here(context);
      await using _slot = await slotOn(cluster);
      await run("slot", sessionId);
      await reaches(pair.second, sessionId, SessionStatus.RUNNING);
      const stop = new AbortController();
      const updates: (readonly [SessionStatus, string])[] = [];
      const watching = (async () => {
        for await (const { session } of pair.second.client.watchSessions({}, { signal: stop.signal }))
          if (session?.sessionId === sessionId) updates.push([session.status, session.reason]);
      })().catch(() => {});
      await until("the watch", WAIT_MS, () => updates.length > 0 || undefined);
      await using _done = await disrupt(cluster);
      const hasFailed = () =>
        updates.some(([status, why]) => status === SessionStatus.FAILED && why === reason) || undefined;
      await until("the session's end", WAIT_MS, hasFailed, () => JSON.stringify(updates));
      stop.abort();
      await watching;
      expect(updates.filter(([status]) => status === SessionStatus.STOPPED)).toEqual([]);
    },
  );

  it("reports that a node has stopped responding, and finds its pod again when the node is back", {
    timeout: LIMIT_MS,
  }, async (context) => {
    const { cluster, agents } = await pair.here(context);
    await using node = await secondNode(cluster);
    await run("away", "away");
    const own = ["-n", agents, "get", "pods", "-l", "gastown.io/session=away", "-o"];
    const bound = async () => (await cluster.kubectl([...own, "jsonpath={.items[*].spec.nodeName}"])) || undefined;
    expect(await until("a node for the pod", WAIT_MS, bound)).toBe(node.name);
    const pod = (await cluster.kubectl([...own, "jsonpath={.items[*].metadata.name}"])).trim();
    await cluster.kubectl(["-n", agents, ...statusPatch("pod", pod, RUNNING)]);
    const reason = async () => (await pair.second.client.getSession({ sessionId: "away" })).reason;
    await until("the lost node", WAIT_MS, async () => (await reason()) === "NodeLost" || undefined);
    await cluster.kubectl(["-n", agents, ...statusPatch("pod", pod, RUNNING)]);
    await until("its pod", WAIT_MS, async () => (await reason()) === "" || undefined);
    await cluster.kubectl(["-n", agents, "delete", "pod", pod, "--force", "--grace-period=0"]);
  });
}

const statusPatch = (kind: string, name: string, status: object) => [
  ...["patch", kind, name, "--subresource=status", "--type=merge", "-p", JSON.stringify({ status })],
];

/** A kubelet's status of a running pod with one container. */
const RUNNING = {
  phase: "Running",
  podIP: "10.255.255.1",
  podIPs: [{ ip: "10.255.255.1" }],
  conditions: [{ type: "Ready", status: "True" }],
  containerStatuses: [
    {
      ...{ name: "agent", image: "x", imageID: "", ready: true, started: true, restartCount: 0 },
      state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
    },
  ],
};

/** Gives the node one slot. */
async function slotOn(cluster: TestCluster): Promise<AsyncDisposable> {
  const node = (await cluster.kubectl(["get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"])).trim();
  const set = (count: string) =>
    cluster.kubectl(statusPatch("node", node, { capacity: { [SLOT]: count }, allocatable: { [SLOT]: count } }));
  await set("1");
  return { [Symbol.asyncDispose]: async () => void (await set("0")) };
}

async function drain(cluster: TestCluster): Promise<AsyncDisposable> {
  const node = (await cluster.kubectl(["get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"])).trim();
  const flags = ["--force", "--delete-emptydir-data", "--ignore-daemonsets"];
  await cluster.kubectl(["drain", node, ...flags, "--pod-selector=gastown.io/session=drained"]);
  return { [Symbol.asyncDispose]: async () => void (await cluster.kubectl(["uncordon", node])) };
}

/** A pod with a higher priority that takes the slot. */
async function preempt(cluster: TestCluster): Promise<AsyncDisposable> {
  await cluster.kubectl(["create", "priorityclass", "urgent", "--value=1000"]);
  const slot = { [SLOT]: "1" };
  const container = { name: "a", image: "localhost/pause:1", resources: { requests: slot, limits: slot } };
  const spec = { priorityClassName: "urgent", containers: [{ ...container, imagePullPolicy: "Never" }] };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "urgent" }, spec };
  await cluster.kubectl(["-n", "default", "create", "-f", "-"], JSON.stringify(pod));
  return {
    [Symbol.asyncDispose]: async () => {
      await cluster.kubectl(["-n", "default", "delete", "pod", "urgent", "--force", "--grace-period=0"]);
      await cluster.kubectl(["delete", "priorityclass", "urgent"]);
    },
  };
}

/** A node without a kubelet: it reports once that it is ready, and is silent from then on. */
async function secondNode(cluster: TestCluster): Promise<AsyncDisposable & { readonly name: string }> {
  const name = "away";
  const node = { apiVersion: "v1", kind: "Node", metadata: { name, labels: { "example.org/away": "true" } } };
  await cluster.kubectl(["create", "-f", "-"], JSON.stringify(node));
  const room = { cpu: "4", memory: "8Gi", pods: "110", "ephemeral-storage": "100Gi" };
  const now = new Date().toISOString();
  const ready = { type: "Ready", status: "True", reason: "KubeletReady", lastHeartbeatTime: now };
  const conditions = [{ ...ready, lastTransitionTime: now }];
  await cluster.kubectl(statusPatch("node", name, { capacity: room, allocatable: room, conditions }));
  return { name, [Symbol.asyncDispose]: async () => void (await cluster.kubectl(["delete", "node", name])) };
}
