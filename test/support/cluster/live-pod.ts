import { SessionStatus } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { until } from "../sidecar/sidecar.ts";
import type { TestCluster } from "./cluster.ts";
import type { ControllerCluster, RunningReplica } from "./controller-cluster.ts";

/** A session in a running pod. */
export interface LivePod {
  readonly id: string;
  /** The messages that its agent took, oldest first. */
  readonly taken: () => Promise<readonly string[]>;
}

export const LIVE_POD_PROVIDER = "live";
/** The file in which these agents note each message. */
export const TAKEN_LOG = "/tmp/taken.jsonl";

/** The provider's configuration for these pods. */
export function livePodProvider(image: string): object {
  const command = ["gt-demo-agent", "--turn-ms", "50", "--steps", "1", "--log", TAKEN_LOG];
  const resources = { requests: { cpu: "50m", memory: "64Mi" }, limits: { memory: "512Mi" } };
  return { image, agent: "demo", image_pull_policy: "IfNotPresent", command, resources };
}

/** `index`: the number of this session among all. */
export async function livePod(town: ControllerCluster, replica: RunningReplica, index: number): Promise<LivePod> {
  const id = `live-${index}`;
  const { client, log } = replica;
  await client.startSession({ projectId: "shop", sessionId: id, provider: LIVE_POD_PROVIDER, repoPath: "/workspace" });
  const isRunning = async () =>
    (await client.getSession({ sessionId: id })).status === SessionStatus.RUNNING || undefined;
  await until(`session ${id} running`, 60_000, isRunning, log);
  return { id, taken: () => takenIn(town, id) };
}

/** The messages that such a session's agent took, oldest first. */
export async function takenIn(
  { agents, cluster }: { readonly agents: string; readonly cluster: TestCluster },
  id: string,
): Promise<readonly string[]> {
  const own = ["-n", agents, "get", "pod", "-l", `gastown.io/session=${id}`, "-o", "name"];
  const pod = (await cluster.kubectl(own)).trim();
  const text = await cluster.kubectl(["-n", agents, "exec", pod, "-c", "agent", "--", "cat", TAKEN_LOG]);
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => (JSON.parse(line) as { readonly text: string }).text);
}
