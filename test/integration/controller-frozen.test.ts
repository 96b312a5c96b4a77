// Tests a controller that is stopped as a process, as by a node's debugger or a suspended machine, while sidecars serve
// it, and sidecars that are stopped while it calls them. Real processes over a real API server; no node runs.
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, ConnectError, createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { mintToken } from "../../internal/auth/mint-token.ts";
import { BridgeService, SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { type SidecarConnection, sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { type TestCluster, testCluster } from "../support/cluster/cluster.ts";
import { requireMade } from "../support/cluster/components.ts";
import { ControllerCluster, type RunningReplica } from "../support/cluster/controller-cluster.ts";
import { type ProcessPod, processPod } from "../support/cluster/process-pod.ts";
import { SessionReader } from "../support/cluster/session-reader.ts";
import { until } from "../support/sidecar/sidecar.ts";

const LIMIT_MS = 400_000;
const WAIT_MS = 120_000;
/** Longer than a connection without a call stays open, and than each end waits for the other's answer to a PING. */
const FROZEN_MS = 60_000;
const TOKEN_MS = 290_000;

/** In order: the tests that take a minute run concurrently, after those of a handshake. */
describe("a controller, its sidecars, and a SIGSTOP", () => {
  let town: ControllerCluster | undefined;
  let cluster: TestCluster | undefined;
  let first: RunningReplica;
  let second: RunningReplica;
  let one: ProcessPod;
  let shaky: ProcessPod;
  let two: ProcessPod;
  let relay: WatchedRelay;
  const callers: SidecarConnection[] = [];

  beforeAll(async () => {
    const found = await testCluster(`gt-frozen-${process.pid}`, "none");
    if ("missing" in found) return;
    cluster = found;
    town = await ControllerCluster.make(cluster, undefined);
    const { agents, adopting } = town;
    await town.configure(
      "agent:1",
      {},
      {
        auth: { jwt_public_keys: [{ issuer: "shop", key_path: "shop.pub", projects: ["shop", "desk"] }] },
        namespaces: [
          { name: agents, project: "shop" },
          { name: adopting, project: "desk" },
        ],
      },
    );
    [first, second] = [await town.replica(), await town.replica()];
    one = await started("shop", "one", agents);
    shaky = await started("shop", "shaky", agents, 0);
    relay = await WatchedRelay.before(shaky);
    two = await started("desk", "two", adopting);
    for (const [project, session] of [
      ["shop", "one"],
      ["shop", "shaky"],
      ["desk", "two"],
    ] as const)
      for (const replica of [first, second]) await running(caller(replica, project), session, replica);
  }, LIMIT_MS);

  afterAll(async () => {
    for (const connection of callers) connection[Symbol.dispose]();
    await town?.[Symbol.asyncDispose]();
    for (const pod of [one, shaky, two]) await pod?.[Symbol.asyncDispose]();
    await relay?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  }, LIMIT_MS);

  const here = (context: TestContext) => requireMade(context, town, ["kubectl", "cluster"], "needs an API server");

  async function started(project: string, sessionId: string, namespace: string, listen?: number): Promise<ProcessPod> {
    const start = { projectId: project, sessionId, provider: "demo", repoPath: "/workspace" };
    await caller(first, project).startSession(start);
    return await processPod(cluster as TestCluster, { namespace, session: sessionId }, listen);
  }

  /** A caller of that project, who waits for a silent replica. */
  function caller({ log }: RunningReplica, project: string): Client<typeof BridgeService> {
    const { callerTls, tokenKeys } = town as ControllerCluster;
    const port = /"listen":"127\.0\.0\.1:(\d+)"[^}]*"msg":"serving"/.exec(log())?.[1];
    const claims = { issuer: "shop", subject: "ann", project, audience: "bridge", ttlMs: TOKEN_MS };
    const connection = sidecarTransport({
      baseUrl: `https://127.0.0.1:${port}`,
      tls: callerTls,
      pingTimeoutMs: LIMIT_MS,
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", `Bearer ${mintToken(tokenKeys.privateKey, claims, Date.now())}`);
          return next(request);
        },
      ],
    });
    callers.push(connection);
    return createClient(BridgeService, connection.transport);
  }

  async function running(client: Client<typeof BridgeService>, sessionId: string, { log }: RunningReplica) {
    const isRunning = async () =>
      (await client.getSession({ sessionId })).status === SessionStatus.RUNNING || undefined;
    await until(`${sessionId} to run`, WAIT_MS, () => isRunning().catch(() => undefined), log);
  }

  const peek = (client: Client<typeof BridgeService>, sessionId: string, timeoutMs = WAIT_MS) =>
    client.peek({ sessionId, request: { lines: 1 } }, { timeoutMs });
  const answers = (client: Client<typeof BridgeService>, sessionId: string, { log }: RunningReplica) =>
    until(`an answer of ${sessionId}`, WAIT_MS, () => peek(client, sessionId, 10_000).catch(() => undefined), log);

  /**
   * Checks that it runs, has met nothing unexpected, and that its stream of another project's events was never ended.
   */
  async function isWell(replica: RunningReplica, others: SessionReader, requestId: string): Promise<void> {
    await caller(second, "desk").nudge({ sessionId: "two", request: { message: requestId, requestId } });
    await others.receipt(requestId, WAIT_MS, replica.log);
    expect([others.breaks, others.faults]).toEqual([[], []]);
    expect(() => process.kill(replica.pid, 0)).not.toThrow();
    expect(replica.log()).not.toMatch(/"msg":"bug|unhandled|uncaught|"level":"fatal"/i);
  }

  it.for([
    ["after its first bytes", 1],
    ["with its certificate on the way", 2],
  ] as const)(
    "a controller that is frozen in a handshake, %s, loses its connection, and calls the sidecar when it continues",
    { timeout: LIMIT_MS },
    async ([, flight], context) => {
      await here(context);
      const client = caller(first, "shop");
      await using others = new SessionReader(caller(first, "desk"), "two");
      await isWell(first, others, `before-${flight}`);
      relay.cut();
      const left = relay.atFlight(flight, () => process.kill(first.pid, "SIGSTOP"));
      const asked = peek(client, "shaky").then(
        () => "answered",
        (err: unknown) => ConnectError.from(err).message,
      );
      await left;
      await answers(caller(second, "shop"), "shaky", second);
      process.kill(first.pid, "SIGCONT");
      expect(await asked).toMatch(/^answered$|^\[unavailable\]/); // its own credentials are not in question
      await answers(client, "shaky", first);
      await isWell(first, others, `after-${flight}`);
    },
  );

  describe.concurrent("for a minute", () => {
    it("a controller in mid-stream loses its connections while sidecars serve others, and resumes without a loss", {
      timeout: LIMIT_MS,
    }, async (context) => {
      await here(context);
      const [client, other] = [caller(first, "shop"), caller(second, "shop")];
      await using mine = new SessionReader(client, "one");
      await using others = new SessionReader(other, "one");
      const stop = new AbortController();
      const watching = (async () => {
        for await (const _ of client.watchOutput({ sessionId: "one" }, { signal: stop.signal }));
      })().catch(() => {});
      const nudge = async (requestId: string) => {
        await other.nudge({ sessionId: "one", request: { message: "lines: 2000", requestId } });
        await others.receipt(requestId, WAIT_MS, second.log);
      };
      await nudge("before");
      await mine.receipt("before", WAIT_MS, first.log);
      process.kill(first.pid, "SIGSTOP");
      const isLeft = () => one.sidecar.log().includes("closing a connection that does not answer") || undefined;
      let during = 0;
      for (const end = performance.now() + FROZEN_MS; performance.now() < end; await sleep(5_000))
        await nudge(`during-${during++}`);
      await until("the sidecar to close the connection", WAIT_MS, isLeft, one.sidecar.log);
      expect([others.breaks, others.faults]).toEqual([[], []]);
      process.kill(first.pid, "SIGCONT");
      await nudge("afterwards");
      await mine.receipt("afterwards", WAIT_MS, first.log);
      for (let i = 0; i < during; i++) await mine.receipt(`during-${i}`, WAIT_MS, first.log);
      expect(mine.faults).toEqual([]);
      await running(client, "one", first);
      await answers(client, "one", first);
      stop.abort();
      await watching;
      expect(first.log()).not.toMatch(/"msg":"bug|unhandled|uncaught|"level":"fatal"/i);
    });

    it("a sidecar with an idle connection of a controller ends no other project's stream, even when it is reset", {
      timeout: LIMIT_MS,
    }, async (context) => {
      await here(context);
      const client = caller(second, "shop");
      await using others = new SessionReader(caller(second, "desk"), "two");
      await answers(client, "shaky", second);
      const { sidecar } = shaky;
      const halves = [sidecar.process.pid ?? 0, sidecar.servingPid()];
      for (const pid of halves) process.kill(pid, "SIGSTOP");
      const begun = performance.now();
      const ends: string[] = [];
      for (const at of [20_000, 45_000, FROZEN_MS - 100]) {
        await sleep(Math.max(0, begun + at - performance.now()));
        void peek(client, "shaky", 20_000).catch((err: unknown) => ends.push(ConnectError.from(err).message));
      }
      await sleep(Math.max(0, begun + FROZEN_MS - performance.now()));
      for (const pid of halves.toReversed()) process.kill(pid, "SIGCONT");
      relay.cut();
      await answers(client, "shaky", second);
      await isWell(second, others, "after-the-reset");
      expect(ends.length).toBeGreaterThan(0);
    });
  });
});

/** A relay at the pod's address, in front of its sidecar, which watches how far a controller's handshake has come. */
class WatchedRelay implements AsyncDisposable {
  readonly #server = createServer((near) => this.#pass(near));
  readonly #sockets = new Set<Socket>();
  readonly #far: { readonly host: string; readonly port: number };
  #plan: { readonly flight: number; readonly act: () => void; readonly left: () => void } | undefined;

  private constructor(host: string, port: number) {
    this.#far = { host, port };
  }

  static async before({ ip, sidecar }: ProcessPod): Promise<WatchedRelay> {
    const relay = new WatchedRelay(ip, sidecar.port);
    relay.#server.listen(9090, ip);
    await once(relay.#server, "listening");
    return relay;
  }

  /**
   * For the next connection: calls `act` at this flight of the caller's bytes, which is dropped unless it is the first.
   * Resolves when the sidecar has closed the connection.
   */
  atFlight(flight: number, act: () => void): Promise<void> {
    const { promise, resolve: left } = Promise.withResolvers<void>();
    this.#plan = { flight, act, left };
    return promise;
  }

  /** Resets all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(near: Socket): void {
    const plan = this.#plan;
    this.#plan = undefined;
    const far = connect(this.#far);
    let came = 0;
    near.on("data", (chunk) => {
      came++;
      if (came === plan?.flight) plan.act();
      if (came < 2 || came !== plan?.flight) far.write(chunk);
    });
    far.on("data", (chunk) => void near.write(chunk));
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
        if (socket === far) plan?.left();
      });
    }
  }
}
