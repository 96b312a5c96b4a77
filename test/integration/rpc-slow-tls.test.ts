import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Health } from "../../internal/gen/grpc/health/v1/health_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { startRpcServer } from "../support/bridge/rpc-server.ts";
import { calmTime } from "../support/calm-time.ts";

const HANDSHAKE_MS = 1500;
const REQUEST_MS = 2000;
const limits = {
  handshakeTimeoutMs: HANDSHAKE_MS,
  requestTimeoutMs: REQUEST_MS,
  pingIntervalMs: 500,
  pingTimeoutMs: 1500,
};
/** Longer than each of the limits, because the server looks for slow connections only periodically. */
const BOUND_MS = 5000;

const PEEK = "/gastown.v1.SidecarService/Peek";
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS = "\0\0\0\x04\0\0\0\0\0";
/** A frame of a request's headers that declares 200 bytes, with only the first of them. */
const HALF_HEADERS = "\0\0\xc8\x01\x04\0\0\0\x01\x83";
/** A record with a ClientHello that declares 512 bytes. */
const HELLO = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
const HEAD = `POST ${PEEK} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 4000\r\n`;

const ca = new TestCa("town");
const caller = ca.issue({ uris: ["spiffe://town/client/ann"] });
let server: Awaited<ReturnType<typeof startRpcServer>>;

beforeAll(async () => {
  server = await startRpcServer({ tls: ca.issue({ ips: ["127.0.0.1"] }), limits });
});
afterAll(() => server[Symbol.asyncDispose]());

interface Kept {
  readonly ms: number;
  readonly calmMs: number;
}

/** Sends `begin`, then `rest` byte by byte, and noise, for as long as the server keeps the connection. */
async function drip(socket: Socket, ready: "connect" | "secureConnect", begin: string, rest = ""): Promise<Kept> {
  socket.resume().on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await once(socket, ready);
  const kept = keptTime();
  if (begin !== "") socket.write(begin, "latin1");
  for (let at = 0; !socket.destroyed; at++) {
    await Promise.race([sleep(25), closed]);
    socket.write(rest[at] ?? "a", "latin1");
  }
  await closed;
  return kept();
}

/** The time for which a connection is kept from now on, ms, and the part of it in which the server had a core. */
function keptTime(): () => Kept {
  const start = performance.now();
  const passed = calmTime();
  return () => ({ ms: performance.now() - start, calmMs: passed() });
}

function expectInTime({ ms, calmMs }: Kept): void {
  expect(ms).toBeGreaterThan(HANDSHAKE_MS / 2);
  expect(calmMs).toBeLessThan(BOUND_MS);
}

function finished(protocol: string | undefined): Socket {
  const options: ConnectionOptions = { ...caller, host: "127.0.0.1", port: server.port };
  return connectTls(protocol === undefined ? options : { ...options, ALPNProtocols: [protocol] });
}

it("a caller that sends its ClientHello slowly is cut off", async () => {
  expectInTime(await drip(connect(server.port, "127.0.0.1"), "connect", HELLO));
});

it.each([
  ["an HTTP/2 preface", "h2", "", PREFACE],
  ["the first SETTINGS", "h2", `${PREFACE}\0\0\x60\x04\0\0\0\0\0`, ""],
  ["the headers of an HTTP/2 request", "h2", PREFACE + SETTINGS + HALF_HEADERS, ""],
  ["the headers of an HTTP/1.1 request", "http/1.1", "", HEAD],
  ["the body of an HTTP/1.1 request", "http/1.1", `${HEAD}\r\n`, ""],
  ["an HTTP/1.1 request without ALPN", undefined, "", HEAD],
])("a caller with a certificate that sends %s slowly is cut off", async (_, protocol, begin, rest) => {
  expectInTime(await drip(finished(protocol), "secureConnect", begin, rest));
});

it.each(["h2", "http/1.1", undefined])(
  "a caller with a certificate that is silent after its handshake (ALPN %s) is cut off",
  async (protocol) => {
    const socket = finished(protocol);
    await new Promise((resolve) => socket.once("secureConnect", resolve));
    const kept = keptTime();
    await new Promise((resolve) =>
      socket
        .resume()
        .on("error", () => {})
        .once("close", resolve),
    );
    expectInTime(kept());
  },
);

it("500 slow callers at once lock no caller out, and all are cut off", async () => {
  const slow = Array.from({ length: 500 }, () => drip(connect(server.port, "127.0.0.1"), "connect", HELLO));
  for (let i = 0; i < 5; i++) {
    using connection = sidecarTransport({ baseUrl: server.url, tls: caller });
    expect((await createClient(Health, connection.transport).check({}, { timeoutMs: 30_000 })).status).toBe(1);
  }
  await Promise.all(slow);
});
