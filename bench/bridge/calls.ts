import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { BridgeFolder, type RunningBridge } from "../../test/support/bridge/bridge-folder.ts";
import { until } from "../../test/support/sidecar/sidecar.ts";
import type { BenchContext } from "../context.ts";
import { type Measured, measured } from "../report/row.ts";
import { interleave, median, quantile } from "../stats.ts";
import { measureFirstEvent } from "./first-event.ts";

const CALL_MS = 30_000;

/**
 * Measures calls through the real daemon: a peek through the bridge compared with a peek at the session's sidecar, and
 * the time to a session's first event.
 */
export async function measureBridgeCalls(context: BenchContext): Promise<readonly Measured[]> {
  await using folder = await BridgeFolder.create();
  const limits = { starts_per_minute: 1000 };
  await using bridge = await folder.start({
    limits,
    sessions: { stop_grace_period: "3s", max_per_project: 50, max_global: 50 },
  });
  const peeked = await peeks(context, folder, bridge);
  context.say("bridge: start to first event, demo");
  const place = { folder, bridge, rounds: context.quick ? 3 : 10, signal: context.signal };
  return [...peeked, ...(await measureFirstEvent(place, "demo", folder.path("repos/one")))];
}

function begin(folder: BridgeFolder, bridge: RunningBridge, sessionId: string, mode: string) {
  const request = { projectId: folder.prd.name, sessionId, provider: "demo", repoPath: folder.path("repos/one") };
  return folder.client(bridge, folder.prd).startSession({ ...request, agentOpts: { mode } }, { timeoutMs: CALL_MS });
}

async function peeks({ quick, signal, say }: BenchContext, folder: BridgeFolder, bridge: RunningBridge) {
  say("bridge: peek");
  const client = folder.client(bridge, folder.prd);
  await begin(folder, bridge, "peek", "terminal");
  const isRunning = async () => (await client.getSession({ sessionId: "peek" })).status === SessionStatus.RUNNING;
  await until("a running session", 30_000, async () => (await isRunning()) || undefined, bridge.log);
  const sessions = folder.path("state/t");
  const [name = ""] = readdirSync(sessions);
  const socket = readdirSync(join(sessions, name), { recursive: true, encoding: "utf8" }).find(isRpcSocket) ?? "";
  const socketPath = join(sessions, name, socket);
  using connection = sidecarTransport({ baseUrl: "http://localhost", socketPath });
  const direct = createClient(SidecarService, connection.transport);
  const samples = { through: [] as number[], direct: [] as number[] };
  const time = async (into: number[], call: () => Promise<{ readonly sessionAlive: boolean }>) => {
    const at = performance.now();
    const { sessionAlive } = await call();
    into.push(performance.now() - at);
    if (!sessionAlive) throw new Error("the session is dead");
  };
  const request = { lines: 50 };
  const through = () => client.peek({ sessionId: "peek", request }, { timeoutMs: CALL_MS });
  const straight = () => direct.peek(request, { timeoutMs: CALL_MS });
  for (let i = 0; i < 50; i++) await Promise.all([through(), straight()]);
  const arms = [() => time(samples.through, through), () => time(samples.direct, straight)];
  await interleave(quick ? 300 : 2000, arms, signal);
  return [
    measured("bridge: peek 50 lines, p50 (baseline: at its sidecar)", median(samples.through), "ms", {
      baseline: median(samples.direct),
      ratioAtMost: 2.5,
    }),
    measured("bridge: peek 50 lines, p99 (baseline: at its sidecar)", quantile(samples.through, 0.99), "ms", {
      baseline: quantile(samples.direct, 0.99),
    }),
  ];
}

const isRpcSocket = (name: string) => name.endsWith("rpc.sock");
