import { create, toBinary } from "@bufbuild/protobuf";
import { StreamEventsRequestSchema } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import type { TlsMaterial } from "../../internal/rpc/common/tls.ts";
import { until } from "../../test/support/sidecar/sidecar.ts";
import { BareStreams } from "../bare-streams.ts";
import type { BenchContext } from "../context.ts";
import { type Peer, startPeer } from "../peer.ts";
import { cpuMs } from "../proc.ts";
import { type Measured, measured } from "../report/row.ts";
import { interleave, median } from "../stats.ts";

type Way = "ours" | "theirs";

interface Server {
  readonly port: number;
  readonly tls: TlsMaterial;
}

interface Layout {
  readonly streams: number;
  readonly connections: number;
  readonly events: number;
  readonly everyMs: number;
}

/** The number of events before the measured ones. */
const FIRST = 5;

const LAYOUTS: readonly Layout[] = [
  { streams: 1, connections: 1, events: 1000, everyMs: 1 },
  { streams: 10, connections: 1, events: 600, everyMs: 2 },
  { streams: 100, connections: 2, events: 200, everyMs: 10 },
  { streams: 500, connections: 10, events: 100, everyMs: 20 },
  { streams: 100, connections: 100, events: 200, everyMs: 10 },
  { streams: 500, connections: 500, events: 100, everyMs: 20 },
];

/**
 * Measures subscribers of one session's events through the bridge, over mTLS: CPU of the serving process per delivery,
 * compared with grpc-js.
 */
export async function measureBridgeEvents({ quick, signal, say }: BenchContext): Promise<readonly Measured[]> {
  await using peer = await startPeer("events-server.ts");
  const servers = JSON.parse(peer.facts) as Readonly<Record<Way, Server>>;
  const rows: Measured[] = [];
  for (const layout of LAYOUTS) {
    say(`bridge: ${layout.streams} subscribers on ${layout.connections} connections`);
    const cost: Readonly<Record<Way, number[]>> = { ours: [], theirs: [] };
    const arm = (way: Way) => async () => void cost[way].push(await deliver(peer, servers[way], way, layout));
    await arm("ours")(); // the first run pays for the warm-up
    cost.ours.length = 0;
    await interleave(quick ? 1 : 3, [arm("ours"), arm("theirs")], signal);
    rows.push(rowOf(layout, median(cost.ours), median(cost.theirs)));
  }
  return rows;
}

function rowOf({ streams, connections }: Layout, ours: number, theirs: number): Measured {
  const each = streams / connections;
  const name = `bridge: ${streams} subscribers, ${connections} connections: CPU per event of 1 KiB and subscriber (baseline: grpc-js)`;
  const aim = each >= 50 && streams >= 500 ? { atMost: 20 } : each === 1 && streams > 1 ? { atMost: 50 } : {};
  return measured(name, ours, "µs", { baseline: theirs, ...aim });
}

/** CPU per delivery, µs. */
async function deliver(peer: Peer, server: Server, way: Way, layout: Layout): Promise<number> {
  const said = Number(await peer.tell("said"));
  await using streams = await BareStreams.open({
    ...layout,
    url: `https://127.0.0.1:${server.port}`,
    tls: server.tls,
    path: "/bridge.v1.BridgeService/StreamEvents",
    headers: { authorization: `Bearer ${await peer.tell("token")}` },
    request: () => toBinary(StreamEventsRequestSchema, requestOf(said)),
  });
  await peer.tell(`${way} ${FIRST} 1`);
  await until("the first events", 20_000, () => streams.messages >= FIRST * layout.streams || undefined);
  const from = streams.messages;
  const before = cpuMs(peer.pid);
  await peer.tell(`${way} ${layout.events} ${layout.everyMs}`);
  const wanted = from + layout.events * layout.streams;
  await until("all deliveries", 60_000, () => streams.messages >= wanted || undefined);
  return ((cpuMs(peer.pid) - before) * 1000) / (layout.events * layout.streams);
}

/** Subscribes after the events sent so far: the session's start, and `said` more. */
function requestOf(said: number) {
  return create(StreamEventsRequestSchema, { sessionId: "bench", afterSeq: BigInt(1 + said) });
}
