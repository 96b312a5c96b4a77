import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Code, createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { Health } from "../../internal/gen/grpc/health/v1/health_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import type { Routes } from "../../internal/rpc/server/adapter.ts";
import { ASK, startRpcServer } from "../support/bridge/rpc-server.ts";
import { eventually } from "../support/eventually.ts";
import { until } from "../support/sidecar/sidecar.ts";

const PEEK = "/gastown.v1.SidecarService/Peek";

describe("a request that is too large:", () => {
  it("HTTP/1.1 headers get 431", async () => {
    await using fixture = await startRpcServer();
    const socket = connect(fixture.port, "127.0.0.1")
      .setEncoding("utf8")
      .on("error", () => {});
    socket.write(`GET / HTTP/1.1\r\nhost: localhost\r\nx-big: ${"a".repeat(20_000)}\r\n\r\n`);
    const [answer] = await once(socket, "data");
    expect(answer).toContain("HTTP/1.1 431");
    socket.destroy();
  });

  it.each([20_000, 60_000])("HTTP/2 headers of %i bytes get 431, and no handler runs", async (size) => {
    await using fixture = await startRpcServer();
    const session = connectHttp2(fixture.url, { maxSendHeaderBlockLength: 1_000_000 });
    const headers = { ":method": "POST", ":path": PEEK, "content-type": "application/proto" };
    const stream = session.request({ ...headers, "x-big": "a".repeat(size) });
    const [answer] = await once(stream, "response");
    expect(answer[":status"]).toBe(431);
    expect(fixture.peers).toEqual([]);
    session.destroy();
  });

  it("HTTP/2 headers beyond the parsed size end the connection", async () => {
    await using fixture = await startRpcServer();
    const { socket, frame, frames } = await rawHttp2(fixture.port);
    // A literal header of 100,000 bytes; its length is an integer with a prefix of 7 bits.
    const head = Buffer.concat([
      HEADERS,
      Buffer.from([0x00, 5]),
      Buffer.from("x-big"),
      Buffer.from([0x7f, 0xa1, 0x8c, 0x06]),
    ]);
    const block = Buffer.concat([head, Buffer.alloc(100_000, 97)]);
    for (let at = 0; at < block.length; at += 16_384) {
      const isLast = at + 16_384 >= block.length;
      socket.write(frame(at === 0 ? 1 : 9, isLast ? 4 : 0, 1, block.subarray(at, at + 16_384)));
    }
    await eventually("the connection goes away", () => frames().some(({ type }) => type === 7));
    expect(fixture.peers).toEqual([]);
    socket.destroy();
  });

  it.each([
    ["gRPC", "application/grpc+proto", "8"],
    ["gRPC-Web", "application/grpc-web+proto", undefined],
    ["Connect", "application/proto", undefined],
  ])("a message is answered while it is sent, and its sender does not stall (%s)", async (_, type, status) => {
    await using fixture = await startRpcServer({ readMaxBytes: 1024 });
    const session = connectHttp2(fixture.url);
    const stream = session.request({ ":method": "POST", ":path": PEEK, "content-type": type, te: "trailers" });
    let trailer: unknown;
    stream.on("trailers", (trailers) => {
      trailer = trailers["grpc-status"];
    });
    const answered = once(stream, "response");
    const frame = Buffer.alloc(500_000, 97);
    if (type !== "application/proto") frame.set([0, 0, 7, 161, 27]); // no flags, 499,995 bytes follow
    stream.end(frame);
    await answered;
    stream.resume();
    await once(stream, "close");
    expect(stream.rstCode).toBe(0);
    expect(trailer).toBe(status);
    session.destroy();
  });

  it("unknown fields take no memory during the call", async () => {
    const held: unknown[] = [];
    const routes: Routes = (router) => {
      const peek = ({ $unknown }: { readonly $unknown?: unknown }) => {
        held.push($unknown);
        return {};
      };
      router.service(SidecarService, { peek });
    };
    await using fixture = await startRpcServer({ routes });
    const session = connectHttp2(fixture.url);
    const stream = session.request({ ":method": "POST", ":path": PEEK, "content-type": "application/proto" });
    stream.end(Buffer.alloc(300_000, Buffer.from([0xf8, 0x7f, 0])));
    const [answer] = await once(stream.resume(), "response");
    expect([answer[":status"], held]).toEqual([200, [undefined]]);
    session.destroy();
  });

  it("a sender who never stops is cut off after the answer", async () => {
    await using fixture = await startRpcServer({ readMaxBytes: 1024 });
    const session = connectHttp2(fixture.url);
    const stream = session.request({ ":method": "POST", ":path": PEEK, "content-type": "application/proto" });
    stream.on("error", () => {}).resume();
    const closed = new Promise((resolve) => stream.once("close", resolve));
    let sent = 0;
    for (let i = 0; i < 400 && !stream.closed; i++) {
      sent += 64 * 1024;
      await Promise.race([new Promise((resolve) => stream.write(Buffer.alloc(64 * 1024), resolve)), closed]);
    }
    expect(sent).toBeLessThan(16 * 1024 * 1024);
    session.destroy();
  });
});

describe("calls beyond the limits", () => {
  it("in number are refused in their protocol, and answered again once others have ended", async () => {
    await using fixture = await startRpcServer({ limits: { maxCalls: 4, maxCallsOfOne: 2 } });
    const protocols = (["connect", "grpc"] as const).map((protocol) =>
      sidecarTransport({ baseUrl: fixture.url, protocol }),
    );
    const clients = protocols.map(({ transport }) => createClient(SidecarService, transport));
    const stop = new AbortController();
    const open = clients.map((client) => client.peek({ lines: ASK.wait }, { signal: stop.signal }).catch(() => {}));
    await eventually("two calls are open", () => fixture.open() === 2);
    for (const client of clients) {
      await expect(client.peek({})).rejects.toMatchObject({ code: Code.ResourceExhausted });
      await expect(client.watchOutput({})[Symbol.asyncIterator]().next()).rejects.toMatchObject({
        code: Code.ResourceExhausted,
      });
    }
    stop.abort();
    await Promise.all(open);
    await eventually("they have ended", () => fixture.open() === 0);
    expect((await clients[0]?.peek({ lines: 1 }))?.output).toBe("line\n");
    for (const connection of protocols) connection[Symbol.dispose]();
  });

  it("of held request bytes are refused, and small ones are not", async () => {
    await using fixture = await startRpcServer({ limits: { maxRequestBytes: 1024 * 1024 } });
    const session = connectHttp2(fixture.url);
    const nudge = "/gastown.v1.SidecarService/Nudge";
    const begin = (type: string) => {
      const stream = session.request({ ":method": "POST", ":path": nudge, "content-type": type, te: "trailers" });
      stream.on("error", () => {}).resume();
      return stream;
    };
    const halves = Array.from({ length: 5 }, () => begin("application/json"));
    const refused = Promise.race(halves.map((stream) => once(stream, "response")));
    for (const stream of halves) stream.write(Buffer.alloc(250_000, 0x20)); // and no end
    expect((await refused)[0][":status"]).toBe(429);
    using connection = sidecarTransport({ baseUrl: fixture.url });
    const { nudge: send } = createClient(SidecarService, connection.transport);
    expect((await send({ message: "small" })).deliveredText).toBe("small");
    await expect(send({ message: "x".repeat(100_000) })).rejects.toMatchObject({ code: Code.ResourceExhausted });
    for (const stream of halves) stream.close();
    await until("room", 30_000, () => send({ message: "x".repeat(100_000) }).catch(() => undefined));
    session.destroy();
  });

  it.each([
    ["a handler that announces its answer's size is refused", "Peek", { lines: 150_000 }],
    ["another handler is cut off", "Nudge", { message: "x".repeat(500_000) }],
  ])("of unread answer bytes are held back, and small ones are not: %s", async (_, method, request) => {
    await using fixture = await startRpcServer({ limits: { maxAnswerBytesOfOne: 3 * 1024 * 1024 } });
    const session = connectHttp2(fixture.url);
    const ends: (number | undefined)[] = [];
    for (let i = 0; i < 10; i++) {
      const path = `/gastown.v1.SidecarService/${method}`;
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/json" });
      stream.on("response", (headers) => headers[":status"] === 429 && ends.push(429)); // and never read
      stream.on("error", () => {}).on("close", () => ends.push(stream.rstCode));
      stream.end(JSON.stringify(request));
    }
    // As JSON the answer may be larger than announced.
    const refused = method === "Peek" ? 429 : constants.NGHTTP2_ENHANCE_YOUR_CALM;
    await eventually("some are held back", () => ends.includes(refused));
    expect(ends.length).toBeLessThan(10);
    using connection = sidecarTransport({ baseUrl: fixture.url });
    const { peek } = createClient(SidecarService, connection.transport);
    expect((await peek({ lines: 1 })).output).toBe("line\n");
    session.destroy();
    await until("room", 30_000, () => peek({ lines: 150_000 }).catch(() => undefined));
  });

  it("are cut off if their callers keep refused streams open", async () => {
    await using fixture = await startRpcServer({ limits: { maxCalls: 2, maxCallsOfOne: 2 } });
    const session = connectHttp2(fixture.url);
    const codes: number[] = [];
    for (let i = 0; i < 6; i++) {
      const stream = session.request({ ":method": "POST", ":path": PEEK, "content-type": "application/proto" });
      stream.on("error", () => {}).on("close", () => codes.push(stream.rstCode));
      stream.write(Buffer.alloc(1)); // and no end
    }
    await eventually("two are cut off", () => codes.length === 2);
    expect(codes).toEqual([constants.NGHTTP2_REFUSED_STREAM, constants.NGHTTP2_REFUSED_STREAM]);
    session.destroy();
    using connection = sidecarTransport({ baseUrl: fixture.url });
    const health = createClient(Health, connection.transport);
    await until("room", 30_000, () => health.check({}).catch(() => undefined));
  });
});

/** An HTTP/2 connection with hand-made frames. */
async function rawHttp2(port: number, read = true) {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  const seen: Buffer[] = [];
  if (read) socket.on("data", (chunk) => seen.push(chunk));
  const closed = new Promise<"closed">((resolve) => socket.once("close", () => resolve("closed")));
  const drained = () => new Promise<"drained">((resolve) => socket.once("drain", () => resolve("drained")));
  const frame = (type: number, flags: number, stream: number, payload: Buffer) => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head.set([type, flags], 3);
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, payload]);
  };
  const frames = () => {
    const found: { readonly type: number; readonly payload: Buffer }[] = [];
    const bytes = Buffer.concat(seen);
    for (let at = 0; at + 9 <= bytes.length; ) {
      const length = bytes.readUIntBE(at, 3);
      found.push({ type: bytes[at + 3] ?? 0, payload: bytes.subarray(at + 9, at + 9 + length) });
      at += 9 + length;
    }
    return found;
  };
  /** False once the connection is closed. */
  const send = async (bytes: Buffer) => {
    if (socket.destroyed || socket.write(bytes)) return !socket.destroyed;
    return (await Promise.race([drained(), closed, sleep(20_000, "stuck")])) === "drained";
  };
  await once(socket, "connect");
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  socket.write(frame(4, 0, 0, Buffer.alloc(0)));
  return { socket, frame, frames, send };
}

/** `:method: POST`, `:scheme: http`, `:path: /`, `:authority: a` in HPACK. */
const HEADERS = Buffer.from([0x83, 0x86, 0x84, 0x41, 0x01, 0x61]);

describe("an HTTP/2 connection that is used to flood ends, and the server continues:", () => {
  const expectServing = async (url: string) => {
    using connection = sidecarTransport({ baseUrl: url });
    expect(await createClient(Health, connection.transport).check({})).toMatchObject({ status: 1 });
  };

  it("with streams that are opened and reset", async () => {
    await using fixture = await startRpcServer();
    const { frame, send } = await rawHttp2(fixture.port);
    const reset = Buffer.from([0, 0, 0, 8]);
    let streams = 0;
    for (let open = true; streams < 200_000 && open; streams += 100) {
      const frames = Array.from({ length: 100 }, (_, i) => {
        const id = 2 * (streams + i) + 1;
        return Buffer.concat([frame(1, 4, id, HEADERS), frame(3, 0, id, reset)]);
      });
      open = await send(Buffer.concat(frames));
      await sleep(1);
    }
    expect(streams).toBeGreaterThan(200);
    expect(streams).toBeLessThan(5000);
    // A new connection brings no new budget.
    const again = await rawHttp2(fixture.port);
    let more = 0;
    for (let open = true; more < 10_000 && open; more += 10) {
      const pair = (i: number) => {
        const id = 2 * (more + i) + 1;
        return Buffer.concat([again.frame(1, 4, id, HEADERS), again.frame(3, 0, id, reset)]);
      };
      open = await again.send(Buffer.concat(Array.from({ length: 10 }, (_, i) => pair(i))));
      await sleep(1);
    }
    expect(more).toBeLessThan(streams / 2);
    await expectServing(fixture.url);
  });

  it.each<[string, number, Buffer]>([
    ["PING", 6, Buffer.alloc(8)],
    ["SETTINGS", 4, Buffer.alloc(0)],
  ])("with %s whose answers are not read", async (_, type, payload) => {
    await using fixture = await startRpcServer();
    const { socket, frame, send } = await rawHttp2(fixture.port, false);
    const many = Buffer.concat(Array.from({ length: 1000 }, () => frame(type, 0, 0, payload)));
    const before = process.memoryUsage().rss;
    let sent = 0;
    for (let open = true; sent < 5_000_000 && open; sent += 1000) open = await send(many);
    expect(sent).toBeLessThan(5_000_000);
    expect((process.memoryUsage().rss - before) / 1024 / 1024).toBeLessThan(100);
    socket.destroy();
    await expectServing(fixture.url);
  });

  it("with a header block that has no end", async () => {
    await using fixture = await startRpcServer();
    const { frame, send } = await rawHttp2(fixture.port);
    await send(frame(1, 0, 1, HEADERS)); // no END_HEADERS
    let frames = 0;
    for (let open = true; frames < 10_000 && open; frames++) {
      open = await send(frame(9, 0, 1, Buffer.alloc(1000)));
      await sleep(1);
    }
    expect(frames).toBeLessThan(200);
    await expectServing(fixture.url);
  });
});
