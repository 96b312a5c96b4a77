import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EventType, type SessionEvent, SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { type BridgeClient, createClient } from "../../pkg/bridgeclient/client.ts";
import { BridgeFolder, type Consumer, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { until } from "../support/sidecar/sidecar.ts";
import { TcpRelay } from "../support/sidecar/tcp-relay.ts";

let folder: BridgeFolder;
let bridge: RunningBridge;
let client: BridgeClient;
beforeAll(async () => {
  folder = await BridgeFolder.create();
  bridge = await folder.start();
  client = await clientOf(folder.prd);
});
afterAll(async () => {
  await client.close();
  await folder[Symbol.asyncDispose]();
});

async function clientOf(by: Consumer, port = bridge.port): Promise<BridgeClient> {
  const dir = await folder.consumerFolder(by);
  const path = (name: string) => join(dir, name);
  return createClient({
    target: `127.0.0.1:${port}`,
    mtls: { caCertPath: path("ca.crt"), certPath: path("tls.crt"), keyPath: path("tls.key") },
    jwt: { privateKeyPath: path("jwt-signing.key"), issuer: by.name, projectId: by.name },
    retry: { firstMs: 20, maxMs: 200 },
    keepalive: { pingIntervalMs: 200, pingTimeoutMs: 500 },
  });
}

const start = (sessionId: string, mode: string, by = folder.prd, from = client) =>
  from.startSession({
    ...{ projectId: by.name, sessionId, provider: "demo", repoPath: folder.path("repos/one"), agentOpts: { mode } },
  });

async function untilRunning(sessionId: string): Promise<void> {
  const session = client.session(sessionId);
  const running = async () => ((await session.getStatus()) === SessionStatus.RUNNING ? true : undefined);
  await until("the session to run", 30_000, running, bridge.log);
}

describe("the SDK with a real bridge", () => {
  it("starts, commands and stops an agent, and reads its events to the last one", async () => {
    await start("sdk-1", "stdio");
    const session = client.session("sdk-1");
    await untilRunning("sdk-1");
    const sent = await session.sendInput("hello", { idempotencyKey: "k1" });
    expect(sent.accepted).toBe(true);
    expect(await session.sendInput("hello", { idempotencyKey: "k1" })).toMatchObject({ seq: sent.seq });
    const events: SessionEvent[] = [];
    for await (const event of session.events({ subscriberId: "reader" })) {
      events.push(event);
      if (event.type === EventType.NUDGE_RECEIPT || event.type === EventType.STDOUT) await session.stop();
    }
    expect(events.map(({ seq }) => Number(seq))).toEqual(events.map((_, i) => i + 1));
    expect(events.filter(({ type }) => type === EventType.INPUT_RECEIVED)).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ done: true, type: EventType.SESSION_STOPPED });
    expect(await Array.fromAsync(session.events({ subscriberId: "reader" }))).toEqual([]);
  });

  it("delivers every event once and in order over a network that is cut repeatedly", async () => {
    await using relay = await TcpRelay.to(bridge.port);
    await using far = await clientOf(folder.prd, relay.port);
    await start("sdk-2", "stdio");
    await untilRunning("sdk-2");
    const seen: SessionEvent[] = [];
    const reading = (async () => {
      for await (const event of far.session("sdk-2").events({ subscriberId: "r" })) {
        seen.push(event);
        if (seen.length % 3 === 0) relay.cut();
      }
    })();
    for (let i = 0; i < 8; i++) {
      const { accepted } = await far.session("sdk-2").sendInput(`message ${i}`);
      expect(accepted).toBe(true);
      relay.cut();
    }
    await client.session("sdk-2").stop();
    await reading;
    expect(relay.connections).toBeGreaterThan(8);
    expect(seen.map(({ seq }) => Number(seq))).toEqual(seen.map((_, i) => i + 1));
    const inputs = seen.filter(({ type }) => type === EventType.INPUT_RECEIVED).map(({ text }) => text);
    expect(inputs).toEqual(Array.from({ length: 8 }, (_, i) => `message ${i}`));
  });

  it("reaches the terminal of a session that has one", async () => {
    await start("sdk-3", "terminal");
    await untilRunning("sdk-3");
    const session = client.session("sdk-3");
    await session.nudge({ message: "show this line" });
    expect((await session.peek({ lines: 40 })).output).toContain("show this line");
    const first = await session.watchOutput().next();
    expect(first.value?.sessionAlive).toBe(true);
  });

  it("hides the sessions of one consumer from another", async () => {
    await using other = await clientOf(folder.ndara);
    await start("sdk-4", "stdio");
    await expect(other.getSession({ sessionId: "sdk-4" })).rejects.toMatchObject({ code: "not_found" });
    expect((await other.listSessions()).sessions).toEqual([]);
    await expect(start("x", "stdio", folder.prd, other)).rejects.toMatchObject({ code: "permission_denied" });
    await client.session("sdk-4").stop({ force: true });
  });
});

describe("gt with a real bridge", () => {
  it("starts an agent in a terminal, talks to it, follows it and stops it", async () => {
    const dir = await folder.consumerFolder(folder.prd);
    const env = { PATH: process.env["PATH"] ?? "", HOME: folder.path("home"), USER: "ann" };
    await mkdir(env.HOME);
    const values = { server: `127.0.0.1:${bridge.port}`, "tls-dir": dir, "jwt-key": join(dir, "jwt-signing.key") };
    const profile = { ...values, "jwt-issuer": folder.prd.name, project: folder.prd.name };
    for (const [key, value] of Object.entries(profile)) await gt(["config", "set", key, value], env);
    const started = await gt(["start", "demo", folder.path("repos/one"), "-s", "gt-1", "--mode", "terminal"], env);
    expect(started).toMatchObject({ code: 0, stderr: "" });
    await untilRunning("gt-1");
    const sent = await gt(["nudge", "gt-1", "hello from gt"], env);
    expect(sent).toMatchObject({ code: 0, stderr: "" });
    expect((await gt(["peek", "gt-1"], env)).stdout).toContain("hello from gt");
    expect(JSON.parse((await gt(["status", "gt-1", "--json"], env)).stdout)).toMatchObject({ session_id: "gt-1" });
    expect((await gt(["agents"], env)).stdout).toMatch(/^gt-1 +\S+ +demo +running/m);
    expect(await gt(["stop", "gt-1"], env)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^✓ stopped \S*gt-1\n$/),
    });
    const plain = await gt(["start", "demo", folder.path("repos/one"), "-q"], env);
    const id = plain.stdout.trim();
    await untilRunning(id);
    expect(await gt(["nudge", id, "hello without a terminal"], env)).toMatchObject({ code: 0, stderr: "" });
    expect(await gt(["peek", id], env)).toMatchObject({ code: 0, stdout: expect.stringMatching(/\S/) });
    expect(await gt(["stop", id], env)).toMatchObject({ code: 0 });
  });
});
