import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../internal/gen/grpc/health/v1/health_pb.ts";
import { abortOnExit, sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import { createHealthServer } from "../../internal/rpc/server/health-http.ts";
import { RpcServer } from "../../internal/rpc/server/server.ts";
import { muteHttp2Client, silentAfter } from "../support/bridge/raw-http2.ts";
import { ASK, startRpcServer } from "../support/bridge/rpc-server.ts";
import { calmTime } from "../support/calm-time.ts";
import { eventually } from "../support/eventually.ts";
import { holdUpTwice } from "../support/hold-up.ts";

const failureOf = async (call: Promise<unknown>) =>
  domainErrorOf(
    await call.then(
      () => "no failure",
      (err: unknown) => err,
    ),
  );

describe("a caller that goes away", () => {
  it("frees the handler of a stream when the loop over it is left by break", async () => {
    await using fixture = await startRpcServer();
    using connection = sidecarTransport({ baseUrl: fixture.url });
    const client = createClient(SidecarService, connection.transport);
    for await (const _ of abortOnExit((signal) => client.watchOutput({ lines: ASK.wait }, { signal }))) {
      expect(fixture.open()).toBe(1);
      break;
    }
    await eventually("the handler has ended", () => fixture.open() === 0);
    expect((await client.peek({ lines: 1 })).output).toBe("line\n");
  });

  it.each(["1.1", "2"] as const)(
    "frees the handlers of a stream and a unary call when it aborts, HTTP/%s",
    async (httpVersion) => {
      await using fixture = await startRpcServer();
      const client = createClient(SidecarService, createConnectTransport({ baseUrl: fixture.url, httpVersion }));
      const abort = new AbortController();
      const unary = client.peek({ lines: ASK.wait }, { signal: abort.signal });
      const stream = client.watchOutput({ lines: ASK.wait }, { signal: abort.signal })[Symbol.asyncIterator]();
      await stream.next();
      await eventually("both run", () => fixture.open() === 2);
      const next = stream.next();
      abort.abort();
      expect(await failureOf(unary)).toMatchObject({ kind: "cancelled" });
      expect(await failureOf(next)).toMatchObject({ kind: "cancelled" });
      await eventually("both handlers have ended", () => fixture.open() === 0);
      expect(fixture.log.filter((line) => line.includes('"level":50'))).toEqual([]);
    },
  );

  it("frees the handler when its deadline passes", async () => {
    await using fixture = await startRpcServer();
    using connection = sidecarTransport({ baseUrl: fixture.url });
    const client = createClient(SidecarService, connection.transport);
    expect(await failureOf(client.peek({ lines: ASK.wait }, { timeoutMs: 50 }))).toMatchObject({ kind: "deadline" });
    await eventually("the handler has ended", () => fixture.open() === 0);
  });

  it("is detected by PING when it neither responds nor closes", async () => {
    await using fixture = await startRpcServer({ limits: { pingIntervalMs: 50, pingTimeoutMs: 100 } });
    const socket = muteHttp2Client(fixture.port);
    await new Promise((resolve) => socket.once("close", resolve));
    await eventually("it is logged", () => fixture.log.some((line) => line.includes("does not answer")));
  });

  it("is distinguished from one whose PING response arrived while this process was blocked", async () => {
    await using fixture = await startRpcServer({ limits: { pingIntervalMs: 100, pingTimeoutMs: 200 } });
    const source = `
      const session = require("node:http2").connect("${fixture.url}").on("error", () => {});
      session.once("remoteSettings", () => require("node:worker_threads").parentPort.postMessage("open"));`;
    const worker = new Worker(source, { eval: true });
    await once(worker, "message");
    await holdUpTwice(150, 500);
    expect(fixture.log.filter((line) => line.includes("does not answer"))).toEqual([]);
    await worker.terminate();
  });

  it("is distinguished from one that is only silent", async () => {
    await using fixture = await startRpcServer({ limits: { pingIntervalMs: 20, pingTimeoutMs: 2000 } });
    using connection = sidecarTransport({ baseUrl: fixture.url });
    const client = createClient(SidecarService, connection.transport);
    const stop = new AbortController();
    const stream = client.watchOutput({ lines: ASK.wait }, { signal: stop.signal })[Symbol.asyncIterator]();
    await stream.next();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(fixture.open()).toBe(1);
    stop.abort();
  });
});

describe("a slow or broken caller", () => {
  const limits = { handshakeTimeoutMs: 150, requestTimeoutMs: 300, pingIntervalMs: 100, pingTimeoutMs: 1000 };

  it.each([
    ["nothing at all", ""],
    ["half of what tells HTTP/1.1 from HTTP/2", "PR"],
    ["half of an HTTP/2 preface", "PRI * HT"],
    ["an HTTP/2 preface and no SETTINGS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["half of an HTTP/1.1 header", "POST /gastown.v1.SidecarService/Peek HTTP/1.1\r\nhost: 127"],
    [
      "half of an HTTP/1.1 body",
      "POST /gastown.v1.SidecarService/Peek HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
    ],
  ])("loses its connection after sending %s", async (_what, bytes) => {
    await using fixture = await startRpcServer({ limits });
    const passed = calmTime();
    expect(await silentAfter(fixture.port, bytes)).toBeGreaterThan(100);
    expect(passed()).toBeLessThan(2000);
  });

  it("loses its HTTP/2 stream after sending half of a request", async () => {
    await using fixture = await startRpcServer({ limits });
    const session = connectHttp2(fixture.url);
    const headers = {
      ":method": "POST",
      ":path": "/gastown.v1.SidecarService/Peek",
      "content-type": "application/proto",
    };
    const stream = session.request(headers, { endStream: false });
    stream.write("\x08");
    await new Promise((resolve) => stream.on("error", () => {}).once("close", resolve));
    expect(stream.rstCode).toBe(8);
    session.destroy();
  });

  it.each(["a b", "127.0.0.1:99999", "[::1", "%00"])(
    "gets 400 for the authority %j, and the server continues",
    async (host) => {
      await using fixture = await startRpcServer();
      const status = await new Promise((resolve, reject) => {
        const path = "/gastown.v1.SidecarService/Peek";
        const headers = { host, "content-type": "application/json" };
        const req = httpRequest({
          host: "127.0.0.1",
          port: fixture.port,
          path,
          method: "POST",
          headers,
          setHost: false,
        });
        req
          .on("response", (res) => resolve(res.resume().statusCode))
          .on("error", reject)
          .end("{}");
      });
      expect(status).toBe(400);
      const transport = createConnectTransport({ baseUrl: fixture.url, httpVersion: "1.1" });
      expect((await createClient(SidecarService, transport).peek({ lines: 1 })).output).toBe("line\n");
    },
  );

  it("gets 400 for an invalid authority over HTTP/2 too", async () => {
    await using fixture = await startRpcServer();
    const session = connectHttp2(fixture.url);
    const headers = {
      ":method": "POST",
      ":path": "/gastown.v1.SidecarService/Peek",
      "content-type": "application/json",
    };
    const stream = session.request({ ...headers, ":authority": "127.0.0.1:99999" });
    const status = new Promise((resolve) => stream.once("response", (answer) => resolve(answer[":status"])));
    stream.on("error", () => {}).end("{}");
    expect(await status).toBe(400);
    session.destroy();
  });
});

describe("the check of Host and Origin", () => {
  const peek = async (port: number, headers: Record<string, string>) => {
    const transport = createConnectTransport({
      baseUrl: `http://127.0.0.1:${port}`,
      httpVersion: "1.1",
      nodeOptions: { headers },
    });
    return createClient(SidecarService, transport).peek({ lines: 1 });
  };

  it("refuses a page after DNS rebinding and a page of another origin, and names the flag that permits it", async () => {
    await using fixture = await startRpcServer({ hostCheck: { allowHosts: ["sidecar.example"] } });
    const rebound = await failureOf(peek(fixture.port, { host: "evil.example:80" }));
    expect(rebound).toMatchObject({ kind: "denied", message: expect.stringContaining("--allow-host") });
    const direct = await failureOf(peek(fixture.port, { origin: "https://evil.example" }));
    expect(direct).toMatchObject({ kind: "denied" });
    const allowed = { host: "sidecar.example:9090", origin: "http://localhost:3000" };
    expect((await peek(fixture.port, allowed)).output).toBe("line\n");
    expect(await fixture.metrics.registry.metrics()).toContain('code="permission_denied",protocol="connect"} 2');
  });
});

describe("a server that stops", () => {
  it("reports NOT_SERVING, ends streams and calls with a reason, and accepts no more", async () => {
    await using fixture = await startRpcServer();
    using connection = sidecarTransport({ baseUrl: fixture.url });
    const client = createClient(SidecarService, connection.transport);
    const statuses = createClient(Health, connection.transport).watch({})[Symbol.asyncIterator]();
    expect((await statuses.next()).value?.status).toBe(Status.SERVING);
    const stream = client.watchOutput({ lines: ASK.wait })[Symbol.asyncIterator]();
    await stream.next();
    const unary = client.peek({ lines: ASK.wait });
    await eventually("both run", () => fixture.open() === 2);
    const ends = [failureOf(unary), failureOf(stream.next())];
    await fixture.stop();
    const reason = { kind: "unavailable", message: "the server is shutting down" };
    expect(await Promise.all(ends)).toMatchObject([reason, reason]);
    expect(fixture.open()).toBe(0);
    expect(await failureOf(client.peek({ lines: 1 }))).toMatchObject({ kind: "unavailable" });
  });

  it("notifies health watchers before it stops, within the drain delay", async () => {
    await using fixture = await startRpcServer({ drainDelayMs: 2000 });
    using connection = sidecarTransport({ baseUrl: fixture.url });
    const statuses = createClient(Health, connection.transport).watch({})[Symbol.asyncIterator]();
    await statuses.next();
    const stopped = fixture.stop();
    expect((await statuses.next()).value?.status).toBe(Status.NOT_SERVING);
    const client = createClient(SidecarService, connection.transport);
    expect((await client.peek({ lines: 1 })).output).toBe("line\n");
    await stopped;
  });

  it("does not wait for idle keep-alive connections or for callers that never read", async () => {
    await using fixture = await startRpcServer({ graceMs: 300 });
    const idle = connect(fixture.port, "127.0.0.1").resume();
    idle.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await new Promise((resolve) => idle.once("data", resolve));
    const stuck = connectHttp2(fixture.url, { settings: { initialWindowSize: 0 } });
    stuck.on("error", () => {});
    const passed = calmTime();
    await fixture.stop();
    expect(passed()).toBeLessThan(1000);
    stuck.destroy();
  });

  it("keeps an HTTP/1.1 connection open between requests until it stops", async () => {
    await using fixture = await startRpcServer();
    const socket = connect(fixture.port, "127.0.0.1").setEncoding("utf8");
    let answers = 0;
    socket.on("data", (text) => {
      answers += String(text).split("HTTP/1.1 404").length - 1;
    });
    for (const expected of [1, 2, 3]) {
      socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
      await eventually(`answer ${expected}`, () => answers === expected);
    }
    socket.destroy();
  });

  it("names the port if it cannot listen on it", async () => {
    await using fixture = await startRpcServer();
    const deps = { clock: systemClock, logger: createLogger("test", "silent") };
    const second = new RpcServer(deps, { host: "127.0.0.1", port: fixture.port, routes: () => {} });
    const message = expect.stringContaining(`cannot listen on 127.0.0.1:${fixture.port}`);
    await expect(second.run(new AbortController().signal)).rejects.toMatchObject({ kind: "unavailable", message });
    await expect(second.listening).rejects.toBeInstanceOf(DomainError);
  });
});

describe("a connection that is cut during a call", () => {
  it("ends calls and streams as unavailable, not cancelled, and the next call reconnects", async () => {
    const sockets = new Set<Socket>();
    await using fixture = await startRpcServer();
    const relay = createServer((client) => {
      const server = connect(fixture.port, "127.0.0.1");
      sockets.add(client);
      client.on("error", () => server.destroy()).on("close", () => server.destroy());
      server.on("error", () => client.destroy()).on("close", () => client.destroy());
      client.pipe(server).pipe(client);
    });
    await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
    using connection = sidecarTransport({ baseUrl: `http://127.0.0.1:${(relay.address() as AddressInfo).port}` });
    const client = createClient(SidecarService, connection.transport);
    const stream = client.watchOutput({ lines: ASK.wait })[Symbol.asyncIterator]();
    await stream.next();
    const ends = [failureOf(client.peek({ lines: ASK.wait })), failureOf(stream.next())];
    await eventually("both run", () => fixture.open() === 2);
    for (const socket of sockets) socket.destroy();
    expect(await Promise.all(ends)).toMatchObject([{ kind: "unavailable" }, { kind: "unavailable" }]);
    await eventually("both handlers have ended", () => fixture.open() === 0);
    expect((await client.peek({ lines: 1 })).output).toBe("line\n");
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => relay.close(resolve));
  });
});

describe("the probe port", () => {
  const statusFor = (port: number, host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const asked = httpRequest({ host: "127.0.0.1", port, path: "/metrics", headers: { host } });
      asked.on("response", (answer) => resolve(answer.resume().statusCode)).on("error", reject);
      asked.end();
    });

  it("answers liveness, readiness, metrics and grpc.health.v1 in plaintext, and refuses a foreign Host", async () => {
    await using fixture = await startRpcServer();
    const { health, metrics } = fixture;
    const deps = { clock: systemClock, logger: createLogger("test", "silent"), health, metrics };
    const probes = createHealthServer(deps, {
      host: "127.0.0.1",
      port: 0,
      hostCheck: { allowHosts: ["probe.example"] },
    });
    const stop = new AbortController();
    const running = probes.run(stop.signal);
    const { port } = await probes.listening;
    const get = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      return [answer.status, await answer.text()];
    };
    expect(await get("/livez")).toEqual([200, "ok\n"]);
    // If the announced time is too long, a caller sends its next request on a connection that is closing.
    const { headers } = await fetch(`http://127.0.0.1:${port}/livez`);
    expect(headers.get("keep-alive")).toBe("timeout=5");
    expect(await get("/readyz")).toEqual([200, "ok\n"]);
    expect((await get("/metrics"))[1]).toContain("# TYPE gastown_rpc_requests_total counter");
    expect((await get("/"))[0]).toBe(404);
    expect(await statusFor(port, "evil.example")).toBe(403);
    expect(await statusFor(port, "evil.example:9091")).toBe(403);
    expect(await statusFor(port, "probe.example")).toBe(200);
    expect(await statusFor(port, "10.1.2.3:9091")).toBe(200);
    using connection = sidecarTransport({ baseUrl: `http://127.0.0.1:${port}`, protocol: "grpc" });
    const client = createClient(Health, connection.transport);
    expect((await client.check({})).status).toBe(Status.SERVING);
    expect(await failureOf(client.check({ service: "nobody" }))).toMatchObject({ kind: "not-found" });
    health.set("", false);
    expect((await get("/readyz"))[0]).toBe(503);
    expect((await get("/livez"))[0]).toBe(200);
    stop.abort();
    await running;
  });
});
