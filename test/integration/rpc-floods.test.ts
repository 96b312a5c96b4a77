import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  constants,
  type SecureClientSessionOptions,
} from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { fileURLToPath } from "node:url";
import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Health } from "../../internal/gen/grpc/health/v1/health_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { startRpcServer } from "../support/bridge/rpc-server.ts";
import { eventually } from "../support/eventually.ts";

const PROGRAM = fileURLToPath(new URL("../fakes/tls-server-main.ts", import.meta.url));

describe("10,000 connections that never finish their handshake", () => {
  const COUNT = 10_000;
  const ca = new TestCa("town");
  let server: ChildProcess;
  let port: number;
  beforeAll(async () => {
    server = spawn(process.execPath, [PROGRAM], { stdio: ["pipe", "pipe", "inherit"] });
    server.stdin?.write(`${JSON.stringify(ca.issue({ ips: ["127.0.0.1"] }))}\n`);
    const [line] = await once(server.stdout as NodeJS.ReadableStream, "data");
    port = Number(line);
  });
  afterAll(async () => {
    const ended = once(server, "exit");
    server.stdin?.end();
    await ended;
  });

  const residentMiB = () => {
    const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  };

  it("lock no caller out, and use the memory of the 512 that are allowed at a time", async () => {
    using connection = sidecarTransport({
      baseUrl: `https://127.0.0.1:${port}`,
      tls: ca.issue({ uris: ["spiffe://a/client/b"] }),
    });
    const before = residentMiB();
    let most = before;
    let cut = 0;
    const open = new Set<Socket>();
    const answers: unknown[] = [];
    for (let i = 0; i < COUNT; i++) {
      const socket = connect(port, "127.0.0.1");
      open.add(socket);
      socket.on("error", () => {}).on("connect", () => i % 2 === 0 && socket.write(Buffer.from([22, 3, 1, 2, 0])));
      socket.on("close", () => {
        open.delete(socket);
        cut++;
      });
      if (i % 100 === 0) await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
      if (i % 1000 !== 500) continue;
      using newcomer = sidecarTransport({
        baseUrl: `https://127.0.0.1:${port}`,
        tls: ca.issue({ uris: ["spiffe://a/client/c"] }),
      });
      answers.push((await createClient(Health, newcomer.transport).check({}, { timeoutMs: 30_000 })).status);
      most = Math.max(most, residentMiB());
    }
    await eventually("all but 512 are cut", () => cut >= COUNT - 512);
    expect(answers).toEqual(Array(10).fill(1));
    expect((await createClient(Health, connection.transport).check({}, { timeoutMs: 30_000 })).status).toBe(1);
    expect(open.size).toBeLessThanOrEqual(512);
    expect(most - before).toBeLessThan(150);
    for (const socket of open) socket.destroy();
  });
});

describe("handshakes beyond their rate limit", () => {
  const RATE = { handshakesPerSecond: 50, handshakeBurst: 10 };

  it("begin at that rate, and delay no caller from another address", async () => {
    const ca = new TestCa("town");
    await using fixture = await startRpcServer({ tls: ca.issue({ ips: ["127.0.0.1"] }), limits: RATE });
    const hello = await clientHello();
    let answered = 0;
    const start = performance.now();
    const flood = Array.from({ length: 300 }, () => {
      const socket = connect({ port: fixture.port, host: "127.0.0.1", localAddress: "127.0.0.2" });
      socket.on("error", () => {}).once("data", () => answered++);
      socket.write(hello);
      return socket;
    });
    await eventually("the first are answered", () => answered >= RATE.handshakeBurst);
    for (let i = 0; i < 5; i++) {
      using newcomer = sidecarTransport({ baseUrl: fixture.url, tls: ca.issue({ uris: ["spiffe://a/client/b"] }) });
      expect((await createClient(Health, newcomer.transport).check({}, { timeoutMs: 30_000 })).status).toBe(1);
    }
    const most = RATE.handshakeBurst + ((performance.now() - start) / 1000) * RATE.handshakesPerSecond;
    expect(answered).toBeLessThanOrEqual(most);
    for (const socket of flood) socket.destroy();
  });

  /** The first bytes of a TLS client. */
  async function clientHello(): Promise<Buffer> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const client = connectTls({ port, host: "127.0.0.1", minVersion: "TLSv1.3", ALPNProtocols: ["h2"] });
    client.on("error", () => {});
    const [socket] = (await once(server, "connection")) as [Socket];
    const [bytes] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    server.close();
    return bytes;
  }
});

describe("a connection beyond the limit", () => {
  it("replaces the one that has been idle longest, and is counted", async () => {
    await using fixture = await startRpcServer({ limits: { maxConnections: 3, maxConnectionsOfOne: 3 } });
    const idle = await Promise.all([1, 2, 3].map(() => idleSession(fixture.url)));
    using connection = sidecarTransport({ baseUrl: fixture.url });
    expect((await createClient(Health, connection.transport).check({})).status).toBe(1);
    await eventually("one was cut", () => idle.filter((session) => session.destroyed).length === 1);
    expect(await fixture.metrics.registry.metrics()).toContain('gastown_connections_refused_total{reason="limit"} 1');
    for (const session of idle) session.destroy();
  });
});

/** A connection whose server has answered its SETTINGS. */
async function idleSession(url: string, options: SecureClientSessionOptions = {}): Promise<ClientHttp2Session> {
  const session = connectHttp2(url, options);
  session.on("error", () => {});
  await once(session, "remoteSettings");
  return session;
}

describe("connections without a call", () => {
  it("get GOAWAY at the idle limit although they send PING, and our client continues over a new one", async () => {
    await using fixture = await startRpcServer({ limits: { idleMs: 300 } });
    const session = await idleSession(fixture.url);
    let goaway: number | undefined;
    session.once("goaway", (code) => {
      goaway = code;
    });
    using connection = sidecarTransport({ baseUrl: fixture.url });
    const client = createClient(Health, connection.transport);
    for (let i = 0; i < 3; i++) {
      expect((await client.check({})).status).toBe(1);
      for (let j = 0; j < 8; j++) {
        if (!session.destroyed) session.ping(() => {});
        await sleep(50);
      }
    }
    expect(goaway).toBe(constants.NGHTTP2_NO_ERROR);
    session.destroy();
  });

  it("of callers without a role have a smaller limit and end earlier, and Health stays open to all", async () => {
    const ca = new TestCa("town");
    const server = ca.issue({ ips: ["127.0.0.1"] });
    await using fixture = await startRpcServer({
      tls: server,
      hasRole: (peer) => peer.type === "certificate" && peer.identities.includes("spiffe://a/client/boss"),
      isOpenToAll: (service) => service === Health.typeName,
      limits: { maxWithoutRole: 8, idleWithoutRoleMs: 4000 },
    });
    const stranger = ca.issue({ uris: ["spiffe://a/client/stranger"] });
    const sessions: ClientHttp2Session[] = [];
    for (let i = 0; i < 12; i++) sessions.push(await idleSession(fixture.url, stranger));
    const open = () => sessions.filter((session) => !session.destroyed).length;
    await eventually("8 are left", () => open() === 8, 2000);
    for (const tls of [stranger, ca.issue({ uris: ["spiffe://a/client/boss"] })]) {
      using connection = sidecarTransport({ baseUrl: fixture.url, tls });
      expect((await createClient(Health, connection.transport).check({}, { timeoutMs: 30_000 })).status).toBe(1);
    }
    await eventually("the idle ones have ended", () => open() === 0, 10_000);
  });
});
