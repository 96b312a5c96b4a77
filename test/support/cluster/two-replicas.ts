import { afterAll, beforeAll, type TestContext } from "vitest";
import type { SessionStatus } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { until } from "../sidecar/sidecar.ts";
import { component, requireMade } from "./components.ts";
import { ControllerCluster, type RunningReplica } from "./controller-cluster.ts";
import { shared } from "./shared-cluster.ts";

const LIMIT_MS = 600_000;
const WAIT_MS = 60_000;

/** Two replicas of the controller on the real cluster, for the tests of the calling `describe`. */
export function useTwoReplicas() {
  let town: ControllerCluster | undefined;
  let first: RunningReplica;
  let second: RunningReplica;

  beforeAll(async () => {
    const [given, tool] = [shared(), await component("cluster")];
    if (given?.cluster.control === undefined || "missing" in tool) return;
    const { cluster, name, image } = given;
    town = await ControllerCluster.make(cluster, { control: given.cluster.control, tool: tool.path, name });
    await town.configure(image, { retention: "5s" });
    [first, second] = [await town.replica(), await town.replica()];
  }, LIMIT_MS);

  afterAll(async () => {
    await town?.[Symbol.asyncDispose]();
  }, LIMIT_MS);

  const here = (context: TestContext) =>
    requireMade(context, town, ["kubectl", "cluster", "containers"], "needs a cluster whose pods this machine reaches");

  return {
    here,
    get first() {
      return first;
    },
    get second() {
      return second;
    },
  };
}

/** Starts a session of the demo agent. */
export const startDemoSession = ({ client }: RunningReplica, sessionId: string) =>
  client.startSession({ projectId: "shop", sessionId, provider: "demo", repoPath: "/workspace" });

const status = async ({ client }: RunningReplica, sessionId: string) => (await client.getSession({ sessionId })).status;

/** Resolves when the session has that status. */
export const reaches = (replica: RunningReplica, sessionId: string, wanted: SessionStatus) =>
  until(
    `${sessionId} to have status ${wanted}`,
    WAIT_MS,
    async () => {
      return (await status(replica, sessionId).catch(() => undefined)) === wanted ? true : undefined;
    },
    replica.log,
  );
