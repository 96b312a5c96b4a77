import { setTimeout as sleep } from "node:timers/promises";
import { type Client, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seeded } from "../../bench/stats.ts";
import { BridgeService, EventType, type SessionEvent } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { GapReason } from "../../internal/gen/gastown/v1/common_pb.ts";
import { abortOnExit } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import type { ScriptedAgent } from "../fakes/scripted-provider.ts";
import { type BridgeRoom, startBridgeRoom } from "../support/bridge/bridge-room.ts";
import { eventually } from "../support/eventually.ts";
import { CuttingProxy } from "../support/sidecar/cutting-proxy.ts";

let room: BridgeRoom;
beforeAll(async () => {
  room = await startBridgeRoom({ limits: { startsPerMinute: 10_000 } });
});
afterAll(() => room[Symbol.asyncDispose]());

/** Starts a session and returns the agent behind it. */
async function begin(sessionId: string, inRoom = room): Promise<ScriptedAgent> {
  const request = { projectId: "prd-manager", sessionId, repoPath: inRoom.repo, provider: "scripted" };
  await inRoom.client(inRoom.prd).startSession(request);
  return inRoom.provider.agents.find(({ id }) => id === `prd-manager/${sessionId}`) as ScriptedAgent;
}

/** Puts a phase after each output: two outputs in a row would be merged into one event. */
function say(agent: ScriptedAgent, count: number, bytes = 0): void {
  for (let i = 0; i < count; i++)
    agent.say(
      { type: "output", stream: "stdout", text: `${"x".repeat(bytes)}\n` },
      { type: "phase", state: i % 2 === 0 ? "busy" : "idle" },
    );
}

/** Follows a session over one connection until it is closed or broken. */
async function follow(
  client: Client<typeof BridgeService>,
  request: Parameters<Client<typeof BridgeService>["streamEvents"]>[0],
  take: (event: SessionEvent) => boolean | undefined,
  signal?: AbortSignal,
): Promise<unknown> {
  try {
    const open = (stop: AbortSignal) => client.streamEvents(request, { signal: stop });
    for await (const event of abortOnExit(open, signal)) if (take(event)) return undefined;
    return undefined;
  } catch (err) {
    return domainErrorOf(ConnectError.from(err));
  }
}

describe("a stream of events", () => {
  const transports: Record<string, (own: BridgeRoom) => Transport> = {
    "Connect, HTTP/2": (own) => createConnectTransport({ ...options(own), httpVersion: "2" }),
    "Connect JSON, HTTP/1.1": (own) =>
      createConnectTransport({ ...options(own), httpVersion: "1.1", useBinaryFormat: false }),
    "gRPC, HTTP/2": (own) => createGrpcTransport(options(own)),
    "gRPC-Web, HTTP/1.1": (own) => createGrpcWebTransport({ ...options(own), httpVersion: "1.1" }),
    "gRPC-Web JSON, HTTP/2": (own) =>
      createGrpcWebTransport({ ...options(own), httpVersion: "2", useBinaryFormat: false }),
  };
  function options(own: BridgeRoom) {
    return { baseUrl: own.url, nodeOptions: own.nodeOptions(own.prd), interceptors: [own.authorize(own.prd)] };
  }

  it.each(Object.entries(transports))(
    "has its headers at once, then every event up to the last one: %s",
    async (name, transport) => {
      const sessionId = name.replaceAll(/[^A-Za-z0-9]/g, "-");
      const agent = await begin(sessionId);
      const client = createClient(BridgeService, transport(room));
      const began = Promise.withResolvers<void>();
      const events: SessionEvent[] = [];
      const reading = (async () => {
        const { epoch } = await client.getSession({ sessionId });
        const request = { sessionId, afterSeq: 1n, epoch };
        for await (const event of client.streamEvents(request, { onHeader: () => began.resolve() })) events.push(event);
      })();
      await began.promise;
      expect(events).toEqual([]);
      agent.print("hello\n");
      agent.say({ type: "phase", state: "idle" });
      agent.end();
      await reading;
      expect(events.map(({ type, seq }) => [type, seq])).toEqual([
        [EventType.STDOUT, 2n],
        [EventType.PHASE_CHANGED, 3n],
        [EventType.SESSION_STOPPED, 4n],
      ]);
      expect(events[0]).toMatchObject({ text: "hello\n", stream: "stdout", projectId: "prd-manager", sessionId });
      expect(events.at(-1)?.done).toBe(true);
    },
  );

  it("with another epoch or a number beyond the head is refused, with the current ones in the details", async () => {
    await begin("epochs");
    const client = room.client(room.prd);
    const { epoch, lastSeq } = await client.getSession({ sessionId: "epochs" });
    const fields = { epoch, head: String(lastSeq) };
    const stale = await follow(client, { sessionId: "epochs", epoch: "stale", afterSeq: 0n }, () => true);
    expect(stale).toMatchObject({ kind: "precondition", fields });
    const ahead = await follow(client, { sessionId: "epochs", epoch, afterSeq: 99n }, () => true);
    expect(ahead).toMatchObject({ kind: "precondition", fields });
    const ack = await client
      .ackEvents({ sessionId: "epochs", subscriberId: "s", ackSeq: 99n, epoch })
      .catch((err: unknown) => domainErrorOf(err));
    expect(ack).toMatchObject({ kind: "precondition", fields });
    const unnamed = await follow(client, { sessionId: "epochs", subscriberId: "a b" }, () => true);
    expect(unnamed).toMatchObject({ kind: "invalid" });
  });

  it("continues after its subscriber's acknowledgement over another connection, separately for each caller", async () => {
    const agent = await begin("acks");
    say(agent, 10);
    const first = async (client: Client<typeof BridgeService>, subscriberId: string) => {
      let found: SessionEvent | undefined;
      await follow(client, { sessionId: "acks", subscriberId }, (event) => {
        found = event;
        return true;
      });
      return found;
    };
    await eventually(
      "all events",
      () => (room.sessions.get({ project: "prd-manager", id: "acks" })?.lastSeq ?? 0n) >= 20n,
    );
    const client = room.client(room.prd);
    const { epoch } = (await first(client, "ui")) as SessionEvent;
    await client.ackEvents({ sessionId: "acks", subscriberId: "ui", ackSeq: 12n, epoch });
    await client.ackEvents({ sessionId: "acks", subscriberId: "ui", ackSeq: 3n, epoch }); // changes nothing
    const again = createClient(BridgeService, room.connect(room.prd).transport);
    expect(await first(again, "ui")).toMatchObject({ seq: 13n });
    expect(await first(room.client(room.prd, { subject: "another" }), "ui")).toMatchObject({ seq: 1n });
    expect(await first(again, "log")).toMatchObject({ seq: 1n });
  });

  it("reports to each subscriber the events that the log had already dropped", async () => {
    await using own = await startBridgeRoom({ sessions: { eventBuffer: 50 } });
    const agent = await begin("dropped", own);
    say(agent, 200);
    const last = () => own.sessions.get({ project: "prd-manager", id: "dropped" })?.lastSeq ?? 0n;
    await eventually("all events", () => last() >= 401n);
    const client = own.client(own.prd);
    for (const afterSeq of [0n, 7n]) {
      const events: SessionEvent[] = [];
      await follow(client, { sessionId: "dropped", afterSeq }, (event) => {
        events.push(event);
        return events.length === 2;
      });
      const [gap, next] = events;
      expect(gap).toMatchObject({ type: EventType.BUFFER_OVERFLOW, seq: last() - 50n, done: false });
      expect(gap?.gap).toMatchObject({ first: afterSeq + 1n, to: last() - 49n, reason: GapReason.EVICTED });
      expect(next).toMatchObject({ seq: last() - 49n });
    }
  });

  it("ends with its token, unless a newer one is presented over the same connection", async () => {
    await begin("tokens");
    const connection = room.connect(room.prd, { ttlMs: 6000 });
    const client = createClient(BridgeService, connection.transport);
    const other = createClient(BridgeService, room.connect(room.prd, { ttlMs: 6000 }).transport);
    const ends: string[] = [];
    const kept = new AbortController();
    const following = follow(client, { sessionId: "tokens" }, () => undefined, kept.signal).then((err) => {
      ends.push("renewed");
      return err;
    });
    const left = follow(other, { sessionId: "tokens" }, () => undefined).then((err) => {
      ends.push("left");
      return err;
    });
    const renewing = (async () => {
      for (let i = 0; i < 16; i++) {
        await sleep(500);
        await client.health({});
      }
    })();
    expect(await left).toMatchObject({ kind: "unauthenticated", fields: { token: "expired" } });
    await renewing;
    expect(ends).toEqual(["left"]);
    kept.abort();
    await following;
  });
});

describe("subscribers", () => {
  it("that do not read use bounded memory, delay no other reader, and learn what they missed", async () => {
    await using own = await startBridgeRoom({ sessions: { eventBuffer: 200 } });
    const agent = await begin("slow", own);
    const request = { sessionId: "slow", afterSeq: 1n };
    const release = Promise.withResolvers<void>();
    const slow: SessionEvent[] = [];
    const slowClient = createClient(BridgeService, own.connect(own.prd).transport);
    const stalled = (async () => {
      for await (const event of slowClient.streamEvents(request)) {
        slow.push(event);
        if (slow.length === 1) await release.promise;
      }
    })();
    const fast: SessionEvent[] = [];
    const following = follow(own.client(own.prd), request, (event) => void fast.push(event));
    const rounds = 200;
    for (let i = 0; i < rounds; i++) {
      say(agent, 4, 4000);
      const head = BigInt(1 + 8 * (i + 1));
      await eventually("the fast one has all", () => (fast.at(-1)?.seq ?? 0n) >= head, 60_000);
    }
    expect(fast.every(({ seq }, i) => seq === BigInt(i + 2))).toBe(true);
    expect(slow).toHaveLength(1);
    release.resolve();
    agent.end();
    await Promise.all([stalled, following]);
    expectComplete(slow, 1n);
    const gaps = slow.filter(({ gap }) => gap !== undefined);
    expect(gaps.length).toBeGreaterThan(0);
    expect(gaps.every(({ gap }) => gap?.reason === GapReason.SLOW_READER)).toBe(true);
    expect(fast.at(-1)).toMatchObject({ done: true });
  });

  it("may be 1,000 on one session, and each gets every event", async () => {
    const agent = await begin("many");
    const connections = Array.from({ length: 20 }, () => createClient(BridgeService, room.connect(room.prd).transport));
    const counts = new Uint32Array(1000);
    let began = 0;
    const all = Array.from(counts, async (_, i) => {
      const client = connections[i % 20] as Client<typeof BridgeService>;
      let next = 2n;
      const onHeader = () => void began++;
      for await (const { seq } of client.streamEvents({ sessionId: "many", afterSeq: 1n }, { onHeader })) {
        if (seq === next) counts[i] = (counts[i] ?? 0) + 1;
        next++;
      }
    });
    await eventually("all have begun", () => began === 1000, 120_000);
    say(agent, 10, 1000);
    agent.end();
    await Promise.all(all);
    expect(new Set(counts)).toEqual(new Set([21]));
  }, 240_000);
});

const CUTS = Number(process.env["GT_BRIDGE_CUTS"] ?? 50);
const SEED = Number(process.env["GT_BRIDGE_SEED"] ?? Math.floor(Math.random() * 1e6));

it(
  `${CUTS} random cuts by client, network and server keep the order, and each loss is reported`,
  async ({ onTestFailed }) => {
    onTestFailed(
      () => void process.stderr.write(`the same cuts again: GT_BRIDGE_CUTS=${CUTS} GT_BRIDGE_SEED=${SEED}\n`),
    );
    const [ofPrinting, ofCuts, ofAcks] = [seeded(SEED), seeded(SEED + 1), seeded(SEED + 2)];
    await using own = await startBridgeRoom({ sessions: { eventBuffer: 500 } });
    await using proxy = await CuttingProxy.to(own.port);
    const agent = await begin("cuts", own);
    const pings = { pingIntervalMs: 500, pingTimeoutMs: 500 };
    const connection = own.connect(own.prd, {}, { baseUrl: `https://127.0.0.1:${proxy.port}`, ...pings });
    const client = createClient(BridgeService, connection.transport);
    const events: SessionEvent[] = [];
    const isDone = () => events.at(-1)?.done === true;
    const stop = new AbortController();
    const print = async () => {
      while (!stop.signal.aborted) {
        say(agent, 1 + Math.floor(ofPrinting() * 8), Math.floor(ofPrinting() * 500));
        await sleep(ofPrinting() * 4);
      }
      agent.end();
    };
    const cut = async () => {
      for (let cuts = 0; cuts < CUTS; cuts++) {
        await sleep(ofCuts() * 60);
        const before = events.length;
        if (cuts % 3 === 0) connection[Symbol.dispose]();
        else proxy.cut(cuts % 3 === 1 ? "near" : "far");
        await eventually("events after a cut", () => events.length > before, 60_000);
      }
    };
    const read = async () => {
      for (let acked = 0n; !isDone(); ) {
        await follow(client, { sessionId: "cuts", subscriberId: "ui" }, (event) => {
          if (event.seq <= acked) return event.done; // at least once
          events.push(event);
          acked = event.seq;
          const ack = { sessionId: "cuts", subscriberId: "ui", ackSeq: acked, epoch: event.epoch };
          if (ofAcks() < 0.2) void client.ackEvents(ack).catch(() => {});
          return event.done;
        });
      }
    };
    await Promise.all([print(), read(), cut().finally(() => stop.abort())]);
    expectComplete(events, 0n);
  },
  60_000 + CUTS * 500,
);

/** Checks that every number after `from` up to the last event comes once, in order, or is covered by a gap. */
function expectComplete(events: readonly SessionEvent[], from: bigint): void {
  let next = from + 1n;
  for (const { seq, gap } of events) {
    if (gap !== undefined && gap.first !== seq) {
      expect(gap.first <= next).toBe(true); // it begins after what was acknowledged
      expect(gap.to).toBe(seq + 1n);
    } else expect(seq).toBe(next);
    next = seq + 1n;
  }
  expect(events.at(-1)?.done).toBe(true);
}
