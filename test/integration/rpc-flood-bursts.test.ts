import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { createClient } from "@connectrpc/connect";
import { Gauge } from "prom-client";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { Health } from "../../internal/gen/grpc/health/v1/health_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { createHealthServer } from "../../internal/rpc/server/health-http.ts";
import { startRpcServer } from "../support/bridge/rpc-server.ts";

const PEEK = "/gastown.v1.SidecarService/Peek";

/** Sends the text in one write; resolves with the answers once the connection is closed. */
async function answersTo(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1").setEncoding("latin1");
  let answers = "";
  socket
    .on("error", () => {})
    .on("data", (chunk) => {
      answers += chunk;
    });
  socket.write(text);
  await new Promise((resolve) => socket.once("close", resolve));
  return answers;
}

const countOf = (text: string, part: string) => text.split(part).length - 1;

/** The port for probes, and the number of times that its metrics were made. */
async function probesServer() {
  const fixture = await startRpcServer();
  const { health, metrics } = fixture;
  let made = 0;
  const count = () => {
    made++;
  };
  new Gauge({ name: "gastown_made", help: "Made.", registers: [metrics.registry], collect: count });
  const deps = { clock: systemClock, logger: createLogger("test", "silent"), health, metrics };
  const probes = createHealthServer(deps, { host: "127.0.0.1", port: 0, hostCheck: { allowHosts: [] } });
  const stop = new AbortController();
  const running = probes.run(stop.signal);
  const { port } = await probes.listening;
  return {
    port,
    made: () => made,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
      await fixture[Symbol.asyncDispose]();
    },
  };
}

describe("many requests in one write", () => {
  it("end an HTTP/1.1 connection whose client does not wait for answers", async () => {
    await using fixture = await startRpcServer();
    const head = `POST ${PEEK} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n`;
    await answersTo(fixture.port, `${head}{}`.repeat(400));
    expect(fixture.peers.length).toBeLessThanOrEqual(8);
    const few = await answersTo(
      fixture.port,
      `${`${head}{}`.repeat(3)}${head.replace("\r\n", "\r\nconnection: close\r\n")}{}`,
    );
    expect(countOf(few, "HTTP/1.1 200")).toBe(4);
  });

  it("do not begin when their caller cancels them before their turn", async () => {
    await using fixture = await startRpcServer();
    const session = connectHttp2(fixture.url).on("error", () => {});
    await once(session, "remoteSettings");
    const streams = Array.from({ length: 200 }, () => {
      const stream = session.request({ ":method": "POST", ":path": PEEK, "content-type": "application/proto" });
      return stream.on("error", () => {});
    });
    for (const stream of streams) stream.end();
    for (const stream of streams) stream.close(8);
    await Promise.all(streams.map((stream) => new Promise((resolve) => stream.once("close", resolve))));
    using connection = sidecarTransport({ baseUrl: fixture.url });
    await createClient(Health, connection.transport).check({});
    expect(fixture.peers.length).toBeLessThan(100);
    session.destroy();
  });

  it("to the probe port render the metrics once for all, and end the connection", async () => {
    await using probes = await probesServer();
    const text = "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(1000);
    const began = performance.now();
    await Promise.all(Array.from({ length: 20 }, () => answersTo(probes.port, text)));
    expect(probes.made()).toBeLessThanOrEqual(2 + (performance.now() - began) / 50);
    expect((await fetch(`http://127.0.0.1:${probes.port}/livez`)).status).toBe(200);
  });

  it("to the probe port are limited to 16 streams per connection", async () => {
    await using probes = await probesServer();
    const session = connectHttp2(`http://127.0.0.1:${probes.port}`).on("error", () => {});
    const [settings] = await once(session, "remoteSettings");
    expect(settings).toMatchObject({ maxConcurrentStreams: 16 });
    session.destroy();
  });
});
