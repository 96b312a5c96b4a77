import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { SidecarWatchRequestSchema, WatchMode } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { writeTls } from "../../test/support/bridge/secret.ts";
import { until } from "../../test/support/sidecar/sidecar.ts";
import { BareStreams } from "../bare-streams.ts";
import { makeCertificates } from "../certificates.ts";
import type { BenchContext } from "../context.ts";
import { startPeer } from "../peer.ts";
import { cpuMs } from "../proc.ts";
import { type Measured, measured } from "../report/row.ts";
import { interleave, median } from "../stats.ts";

const STREAMS = 200;
const CONNECTIONS = 10;

/**
 * Measures 200 streams that are passed on 1:1 over mTLS on both sides: CPU of the process in between, compared with a
 * handler that makes each call as a client.
 */
export async function measureBridgeRelay({ quick, signal, say }: BenchContext): Promise<readonly Measured[]> {
  say(`bridge: ${STREAMS} streams passed through`);
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-bench-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const { tlsDir, tls } = await makeCertificates(dir);
  const source = stack.use(await startPeer("watch-server.ts", tlsDir));
  const clientDir = join(dir, "client");
  await writeTls(clientDir, tls);
  const upstream = `https://127.0.0.1:${source.facts.split(" ")[1]}`;
  const relay = stack.use(await startPeer("relay-server.ts", tlsDir, clientDir, upstream));
  const pieces = quick ? 20 : 40;
  const cost = { passed: [] as number[], decoded: [] as number[] };
  const arm = (way: keyof typeof cost) => async () => {
    const message = { mode: WatchMode.RAW, intervalMs: 10, lines: way === "decoded" ? 1 : 0 };
    await using streams = await BareStreams.open({
      ...{ url: `https://127.0.0.1:${relay.facts}`, tls, streams: STREAMS, connections: CONNECTIONS, headers: {} },
      path: "/gastown.v1.SidecarService/WatchOutput",
      request: () => toBinary(SidecarWatchRequestSchema, create(SidecarWatchRequestSchema, message)),
    });
    await until("the first screens", 30_000, () => streams.messages >= STREAMS || undefined);
    const before = cpuMs(relay.pid);
    const from = streams.messages;
    await source.tell(`push ${pieces}`);
    await until("all deliveries", 60_000, () => streams.messages - from >= pieces * STREAMS || undefined);
    cost[way].push(((cpuMs(relay.pid) - before) * 1000) / (streams.messages - from));
  };
  await arm("passed")();
  cost.passed.length = 0;
  await interleave(quick ? 1 : 3, [arm("passed"), arm("decoded")], signal);
  return [
    measured(
      `bridge: ${STREAMS} streams passed through 1:1: CPU per message of 1 KiB (baseline: client to handler)`,
      median(cost.passed),
      "µs",
      { baseline: median(cost.decoded), ratioAtMost: 0.286 },
    ),
  ];
}
