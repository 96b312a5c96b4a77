import { afterEach, beforeEach, expect, it } from "vitest";
import { DomainError } from "../../internal/base/errors.ts";
import { EventType, type SessionEvent } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { type BridgeClient, createClient } from "../../pkg/bridgeclient/client.ts";
import { BridgeScene } from "../support/bridge/bridge-scene.ts";
import { eventually } from "../support/eventually.ts";
import { TcpRelay } from "../support/sidecar/tcp-relay.ts";

let scene: BridgeScene;
let relay: TcpRelay;
let client: BridgeClient;
beforeEach(async () => {
  scene = await BridgeScene.create();
  relay = await TcpRelay.to(scene.server.port);
  client = createClient(scene.options({}, relay.port));
  scene.bridge.add("s1", "p1");
});
afterEach(async () => {
  await client.close();
  await relay[Symbol.asyncDispose]();
  await scene[Symbol.asyncDispose]();
});

const emit = (from: number, to: number) => {
  for (let i = from; i <= to; i++) scene.bridge.emit("s1", `line ${i}`);
};
const seqs = (events: readonly SessionEvent[]) => events.map(({ seq }) => Number(seq));

/** Reads until `count` events have come, and leaves the loop in one of two ways. */
async function read(events: AsyncIterable<SessionEvent>, count: number): Promise<SessionEvent[]> {
  const found: SessionEvent[] = [];
  for await (const event of events) {
    found.push(event);
    if (found.length === count) break;
  }
  return found;
}

it("continues after the last handled event when the connection is cut repeatedly", async () => {
  const { bridge } = scene;
  let seed = Number(process.env["GT_SEED"] ?? 20_261_122);
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed / 2_147_483_648;
  };
  const found: SessionEvent[] = [];
  let cuts = 0;
  emit(1, 1);
  for await (const event of client.session("s1").events({ subscriberId: "r" })) {
    found.push(event);
    if (event.done) break;
    if (random() < 0.15) {
      relay.cut();
      cuts++;
    }
    if (found.length < 400) bridge.emit("s1", `line ${found.length + 1}`);
    else bridge.emit("s1", "", { type: EventType.SESSION_STOPPED, done: true });
    if (found.length === 200) bridge.emit("s1", "one more in the meantime");
  }
  expect(cuts).toBeGreaterThan(20);
  expect(seqs(found)).toEqual(found.map((_, i) => i + 1));
});

it("survives a bridge that is restarted on its port", async () => {
  const events = client.session("s1").events({ subscriberId: "r" });
  emit(1, 2);
  expect((await events.next()).value?.seq).toBe(1n);
  const { port } = scene.server;
  await scene.server[Symbol.asyncDispose]();
  await scene.serve(port);
  emit(3, 3);
  expect(seqs(await read(events, 2))).toEqual([2, 3]);
});

it("acknowledges the handled events, and continues there the next time under the same name", async () => {
  emit(1, 5);
  const { bridge } = scene;
  await read(client.session("s1").events({ subscriberId: "r" }), 3); // the third is not handled yet
  expect(bridge.acked("s1", "r")).toBe(2n);
  expect(seqs(await read(client.session("s1").events({ subscriberId: "r" }), 3))).toEqual([3, 4, 5]);
  expect(seqs(await read(client.session("s1").events({ subscriberId: "other" }), 1))).toEqual([1]);
});

it("acknowledges in batches while it waits for more", async () => {
  emit(1, 150);
  const events = client.session("s1").events({ subscriberId: "r" });
  for (let i = 0; i < 150; i++) await events.next();
  const waiting = events.next();
  await eventually("all that was handled is acknowledged", () => scene.bridge.acked("s1", "r") === 150n);
  expect(scene.bridge.calls.filter((name) => name === "ackEvents").length).toBeLessThanOrEqual(4);
  emit(151, 151);
  await waiting;
  await events.return();
});

it("acknowledges nothing without a name, and begins at the requested number", async () => {
  emit(1, 5);
  expect(seqs(await read(client.session("s1").events({ afterSeq: 3 }), 2))).toEqual([4, 5]);
  expect(scene.bridge.calls).not.toContain("ackEvents");
});

it("ends after the last event and acknowledges it, and a later reader ends at once", async () => {
  emit(1, 1);
  scene.bridge.emit("s1", "", { type: EventType.SESSION_STOPPED, done: true });
  const events = await Array.fromAsync(client.session("s1").events({ subscriberId: "r" }));
  expect(events.map(({ done }) => done)).toEqual([false, true]);
  expect(scene.bridge.acked("s1", "r")).toBe(2n);
  expect(await Array.fromAsync(client.session("s1").events({ subscriberId: "r" }))).toEqual([]);
});

it("reports events that the log no longer holds as a gap", async () => {
  emit(1, 10);
  scene.bridge.forget("s1", 3);
  const [gap, ...rest] = await read(client.session("s1").events({ afterSeq: 2n }), 4);
  expect(gap).toMatchObject({ type: EventType.BUFFER_OVERFLOW, seq: 7n, gap: { first: 3n, to: 8n } });
  expect(seqs(rest)).toEqual([8, 9, 10]);
});

it("reports the loss when the log restarts, and reads the new log from its beginning", async () => {
  emit(1, 3);
  const events = client.session("s1").events({ subscriberId: "r" });
  for (let i = 0; i < 3; i++) await events.next();
  const next = events.next();
  await eventually("the stream is open", () => scene.bridge.openStreams === 1);
  scene.bridge.newEpoch("s1", "e2");
  emit(1, 2);
  expect((await next).value).toMatchObject({
    ...{ type: EventType.BUFFER_OVERFLOW, epoch: "e2", sessionId: "s1" },
    gap: { first: 4n, to: 0n, reason: 3 },
  });
  expect(seqs(await read(events, 2))).toEqual([1, 2]);
});

it.each<[string, (events: AsyncIterable<SessionEvent>) => Promise<unknown>]>([
  ["break", (events) => read(events, 1)],
  [
    "throw",
    async (events) => {
      for await (const _ of events) throw new Error("enough");
    },
  ],
  ["the caller's signal", (events) => read(events, 2)],
])("cancels the stream when the loop is left by %s", async (how, leave) => {
  emit(1, 1);
  const stop = new AbortController();
  const leaving = leave(client.session("s1").events({ subscriberId: "r", signal: stop.signal }));
  leaving.catch(() => {});
  if (how === "the caller's signal") {
    await eventually("the stream is open", () => scene.bridge.openStreams === 1);
    stop.abort(new Error("enough"));
    await expect(leaving).rejects.toThrow("enough");
  }
  await leaving.catch(() => {});
  await eventually("the bridge's stream has ended", () => scene.bridge.openStreams === 0);
});

it("fails at once where a retry cannot help", async () => {
  scene.bridge.add("theirs", "p2");
  await expect(client.session("theirs").events().next()).rejects.toMatchObject({ code: "not_found" });
  await expect(client.session("s1").events({ afterSeq: 7n }).next()).rejects.toMatchObject({
    code: "failed_precondition",
    fields: { epoch: "e1", head: "0" },
  });
});

it("waits as long as a busy bridge says", async () => {
  const busy = () => new DomainError("exhausted", "too many streams", { fields: { retry_after_ms: 30 } });
  scene.bridge.failures.set("streamEvents", [busy(), busy(), busy(), busy(), busy()]);
  emit(1, 1);
  expect(seqs(await read(client.session("s1").events(), 1))).toEqual([1]);
});

it("shares few connections among many streams", async () => {
  emit(1, 1);
  const streams = Array.from({ length: 200 }, () => client.streamEvents({ sessionId: "s1" }));
  await Promise.all(streams.map((stream) => stream.next()));
  expect(relay.connections).toBe(3);
  await client.health();
  await Promise.all(streams.map((stream) => stream.return()));
  await eventually("all have ended", () => scene.bridge.openStreams === 0);
});
