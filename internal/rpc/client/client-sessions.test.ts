import { once } from "node:events";
import { type ClientHttp2Stream, constants, createServer, type ServerHttp2Session } from "node:http2";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { Worker } from "node:worker_threads";
import { Code } from "@connectrpc/connect";
import { expect, it, vi } from "vitest";
import { holdUpTwice } from "../../../test/support/hold-up.ts";
import { ClientSessions } from "./client-sessions.ts";

/** A server that answers every call with headers and these chunks. */
async function answeringServer(body: readonly string[] = []) {
  const server = createServer();
  const connected: ServerHttp2Session[] = [];
  server.on("session", (session) => void connected.push(session));
  server.on("stream", (stream) => {
    stream.respond({ ":status": body.length === 0 ? 204 : 200 }, { endStream: body.length === 0 });
    for (const chunk of body) stream.write(chunk);
    if (body.length > 0) stream.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    connected,
    [Symbol.asyncDispose]: async () => {
      for (const session of connected) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answered(stream: ClientHttp2Stream): Promise<void> {
  stream.resume().end();
  await once(stream, "close");
}

it("replaces an idle connection that the server ends while another call begins", async () => {
  await using server = await answeringServer();
  const sessions = new ClientSessions(server.url);
  const first = await sessions.request("POST", "/", {}, {});
  const old = first.session;
  if (old === undefined) throw new Error("a call without a connection");
  await answered(first);
  // Another call begins right after the handler of `ServerConnection`, which gives up the connection.
  const next = new Promise<ClientHttp2Stream>((resolve) =>
    old.once("goaway", () => resolve(sessions.request("POST", "/", {}, {}))),
  );
  // Not `once` from node:events, which also listens for errors.
  const closed = new Promise((resolve) => old.once("close", resolve));
  server.connected[0]?.goaway();
  await answered(await next);
  await closed;
  expect(server.connected).toHaveLength(2);
  sessions.abort();
});

it("pings half as often after a proxy has answered too_many_pings", async () => {
  await using server = await answeringServer();
  const times = { pingIntervalMs: 60_000, pingTimeoutMs: 30_000, idleConnectionTimeoutMs: 60_000 };
  const sessions = new ClientSessions(server.url, times);
  const first = await sessions.request("POST", "/", {}, {});
  const closed = new Promise((resolve) => first.session?.once("close", resolve));
  await answered(first);
  server.connected[0]?.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from("too_many_pings"));
  await closed;
  await answered(await sessions.request("POST", "/", {}, {}));
  expect(sessions.pingIntervalMs).toBe(120_000);
  sessions.abort();
});

it.for(["idle", "with a call under way"])("leaves no socket open after abort, %s", async (state) => {
  const server = createNetServer((socket) => void socket.on("error", () => {}).resume());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const sessions = new ClientSessions(`http://127.0.0.1:${port}`);
  const stream = await sessions.request("POST", "/", {}, {});
  if (state === "idle") stream.close();
  const closed = new Promise((resolve) => stream.once("close", resolve));
  sessions.abort();
  await closed;
  await new Promise((resolve) => server.close(resolve)); // waits until the connection has ended
});

it.for(["iterator", "for await"])(
  "reads an answer that arrived completely before its reader began: %s",
  async (way) => {
    await using server = await answeringServer(["first, ", "second"]);
    const sessions = new ClientSessions(server.url);
    const stream = await sessions.request("POST", "/", {}, {});
    stream.end();
    await vi.waitFor(() => expect(stream.closed).toBe(true), { interval: 1 });
    const chunks: Buffer[] = [];
    for await (const chunk of way === "iterator" ? stream.iterator({ destroyOnReturn: false }) : stream)
      chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe("first, second");
    if (!stream.destroyed) await once(stream, "close");
    sessions.abort();
  },
);

it("abandons a new connection on which the server sends nothing", async () => {
  const server = createNetServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const sessions = new ClientSessions(`http://127.0.0.1:${port}`, { pingTimeoutMs: 20 });
  const stream = await sessions.request("POST", "/", {}, {});
  const [err] = await once(stream, "error");
  expect(err).toMatchObject({
    code: Code.Unavailable,
    rawMessage: `the server at 127.0.0.1:${port} sends no HTTP/2 settings`,
  });
  server.close();
});

it("keeps a connection if the answer to a PING arrived while this process was delayed", async () => {
  const source = `
    const server = require("node:http2").createServer();
    server.on("session", (session) => session.on("error", () => {}));
    server.on("stream", (stream) => stream.on("error", () => {}).respond({ ":status": 200 }));
    server.listen(0, "127.0.0.1", () => require("node:worker_threads").parentPort.postMessage(server.address().port));`;
  const worker = new Worker(source, { eval: true });
  const [port] = (await once(worker, "message")) as [number];
  const sessions = new ClientSessions(`http://127.0.0.1:${port}`, { pingIntervalMs: 100, pingTimeoutMs: 200 });
  const stream = await sessions.request("POST", "/", {}, {});
  const failed = vi.fn();
  stream.on("error", failed).on("close", failed);
  await once(stream, "response");
  await holdUpTwice(150, 500);
  expect(failed).not.toHaveBeenCalled();
  sessions.abort();
  await worker.terminate();
});
