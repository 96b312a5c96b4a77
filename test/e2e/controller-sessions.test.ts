import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { EventType, SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { type TestCluster, testCluster } from "../support/cluster.ts";
import { component, requireComponent } from "../support/components.ts";
import { Containers } from "../support/containers.ts";
import { ControllerCluster, type RunningReplica } from "../support/controller-cluster.ts";
import { until } from "../support/sidecar.ts";

const LIMIT_MS = 600_000;
const NAME = `gt-controller-${process.pid}`;
const WAIT_MS = 60_000;
/** `npm run e2e` runs all of it. */
const isFull = process.env["GT_E2E"] === "full";

describe("the controller on a real cluster, its agents in a namespace that enforces Pod Security restricted", () => {
  let found: TestCluster | undefined;
  let town: ControllerCluster | undefined;
  let first: RunningReplica;
  let second: RunningReplica;

  beforeAll(async () => {
    const [containers, tool] = [await component("containers"), await component("cluster")];
    if ("missing" in containers || "missing" in tool) return;
    const cluster = await testCluster(NAME);
    if ("missing" in cluster) return;
    found = cluster;
    if (cluster.control === undefined) return;
    const dir = await mkdtemp(join(tmpdir(), "gt-e2e-"));
    const archive = join(dir, "image.tar");
    const image = await cluster.load(archive, await (await Containers.here({} as TestContext)).build("demo", archive));
    await rm(dir, { recursive: true, force: true });
    town = await ControllerCluster.make(cluster, cluster.control, tool.path, NAME);
    await town.configure(image, { retention: "5s" });
    [first, second] = [await town.replica(), await town.replica()];
  }, LIMIT_MS);

  afterAll(async () => {
    await town?.[Symbol.asyncDispose]();
    await found?.[Symbol.asyncDispose]();
  }, LIMIT_MS);

  async function here(context: TestContext): Promise<ControllerCluster> {
    if (town !== undefined) return town;
    for (const name of ["kubectl", "cluster", "containers"] as const) await requireComponent(context, name);
    return context.skip("needs a cluster whose pods this machine reaches");
  }
  const start = ({ client }: RunningReplica, sessionId: string) =>
    client.startSession({ projectId: "shop", sessionId, provider: "demo", repoPath: "/workspace" });
  const status = async ({ client }: RunningReplica, sessionId: string) =>
    (await client.getSession({ sessionId })).status;
  const reaches = (replica: RunningReplica, sessionId: string, wanted: SessionStatus) =>
    until(
      `${sessionId} to have status ${wanted}`,
      WAIT_MS,
      async () => {
        return (await status(replica, sessionId).catch(() => undefined)) === wanted ? true : undefined;
      },
      replica.log,
    );

  it(
    "starts, shows, writes to, streams and stops an agent, through any replica",
    async (context) => {
      const { cluster, agents } = await here(context);
      const before = performance.now();
      expect((await start(first, "one")).status).toBe(SessionStatus.STARTING);
      const startMs = performance.now() - before;
      await reaches(second, "one", SessionStatus.RUNNING);
      if (isFull)
        process.stderr.write(
          `StartSession ${Math.round(startMs)} ms; running ${Math.round(performance.now() - before)} ms\n`,
        );
      const nudge = await second.client.nudge({ sessionId: "one", request: { message: "hello from the controller" } });
      expect(nudge.outcome, nudge.error).toBe(NudgeOutcome.SUBMITTED);
      const peek = await first.client.peek({ sessionId: "one", request: {} });
      expect(peek.output).toContain("hello from the controller");
      const sent = await first.client.sendInput({ sessionId: "one", text: "second message", idempotencyKey: "k1" });
      expect(sent.accepted).toBe(true);

      const types: EventType[] = [];
      const stop = new AbortController();
      for await (const event of first.client.streamEvents(
        { sessionId: "one", afterSeq: 0n },
        { signal: stop.signal },
      )) {
        types.push(event.type);
        expect([event.sessionId, event.projectId]).toEqual(["one", "shop"]);
        if (event.type === EventType.NUDGE_RECEIPT && event.requestId === "k1") break;
      }
      stop.abort();
      expect(types).toContain(EventType.SESSION_STARTED);
      expect(types).toContain(EventType.INPUT_RECEIVED);

      const listed = await second.client.listSessions({});
      expect(listed.sessions.map(({ sessionId }) => sessionId)).toEqual(["one"]);
      await second.client.stopSession({ sessionId: "one" });
      await reaches(first, "one", SessionStatus.STOPPED);
      const kept: boolean[] = [];
      for await (const { done } of second.client.streamEvents({ sessionId: "one", afterSeq: 0n })) kept.push(done);
      expect(kept.at(-1)).toBe(true);
      await until("the pod and its Secret to go", WAIT_MS, async () => {
        const left = await cluster.kubectl(["-n", agents, "get", "pods,secrets", "-o", "name"]);
        return left.trim() === "" ? true : undefined;
      });
    },
    LIMIT_MS,
  );

  it(
    "is one session for the same call at both replicas, and says what it cannot do",
    async (context) => {
      await here(context);
      const both = await Promise.all([start(first, "two"), start(second, "two")]);
      expect(both.map(({ sessionId }) => sessionId)).toEqual(["two", "two"]);
      const wrong = first.client.startSession({
        projectId: "shop",
        sessionId: "three",
        provider: "none",
        repoPath: "/workspace",
      });
      await expect(wrong).rejects.toThrow('provider "none" is not available');
      const outside = first.client.startSession({
        projectId: "shop",
        sessionId: "three",
        provider: "demo",
        repoPath: "/etc",
      });
      await expect(outside).rejects.toThrow("is not allowed");
    },
    LIMIT_MS,
  );

  it(
    "goes on when the replica that leads is killed: the other answers, and leads within 20 s",
    async (context) => {
      const { cluster } = await here(context);
      await reaches(second, "two", SessionStatus.RUNNING);
      const leads = (replica: RunningReplica) => replica.log().includes('"this replica leads"');
      const [leader, other] = leads(first) ? [first, second] : [second, first];
      await leader.kill("SIGKILL");
      const killedAt = performance.now();
      const peek = await other.client.peek({ sessionId: "two", request: {} });
      expect(peek.output.length).toBeGreaterThan(0);
      await until("the other to lead", 25_000, () => leads(other) || undefined, other.log);
      expect(performance.now() - killedAt).toBeLessThan(20_000);
      await other.client.stopSession({ sessionId: "two", force: true });
      await reaches(other, "two", SessionStatus.STOPPED);
      await until("its pod to go", WAIT_MS, async () => {
        return (await cluster.kubectl(["-n", "agents", "get", "pods", "-o", "name"])).trim() === "" ? true : undefined;
      });
    },
    LIMIT_MS,
  );
});
