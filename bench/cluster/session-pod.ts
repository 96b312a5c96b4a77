import { SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import type { ControllerCluster, RunningReplica } from "../../test/support/cluster/controller-cluster.ts";
import { until } from "../../test/support/sidecar/sidecar.ts";

/** A session whose pod has no node. */
export interface SessionPod {
  readonly id: string;
  /** An address of this machine that no other session uses. */
  readonly ip: string;
  /** The contents of its Secret, base64. */
  readonly secret: Readonly<Record<string, string>>;
  /**
   * Reports, in place of a kubelet, that the pod is running at its address, then waits until the session is running.
   * `log`: shown if the wait fails.
   */
  reportRunning(log?: () => string): Promise<void>;
}

/** Starts a session. `index`: its number among the sessions on this machine, below 200. */
export async function sessionPod(
  town: ControllerCluster,
  { client, log: replicaLog }: RunningReplica,
  index: number,
): Promise<SessionPod> {
  const [id, ip] = [`live-${index}`, `127.${100 + (process.pid % 100)}.${(process.pid >> 8) % 250}.${index + 1}`];
  await client.startSession({ projectId: "shop", sessionId: id, provider: "demo", repoPath: "/workspace" });
  const kubectl = (...args: string[]) => town.cluster.kubectl(["-n", town.agents, ...args]);
  const [pod] = JSON.parse(await kubectl("get", "pod", "-l", `gastown.io/session=${id}`, "-o", "json")).items;
  const { name } = pod.metadata;
  const { secretName } = pod.spec.volumes.find((one: { name: string }) => one.name === "tls").secret;
  const { data } = JSON.parse(await kubectl("get", "secret", secretName, "-o", "json"));
  const reportRunning = async (log = () => "") => {
    const status = {
      phase: "Running",
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: pod.spec.containers.map((one: { name: string; image: string }) => {
        const at = { running: { startedAt: new Date().toISOString() } };
        return {
          name: one.name,
          image: one.image,
          imageID: "",
          ready: true,
          started: true,
          restartCount: 0,
          state: at,
        };
      }),
    };
    await kubectl("patch", "pod", name, "--subresource=status", "--type=merge", "-p", JSON.stringify({ status }));
    const isRunning = async () =>
      (await client.getSession({ sessionId: id })).status === SessionStatus.RUNNING || undefined;
    await until(`session ${id} running`, 60_000, isRunning, () => `${replicaLog()}\n${log()}`);
  };
  return { id, ip, secret: data, reportRunning };
}
