import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { DomainError } from "../../base/errors.ts";
import { McpPipe } from "./mcp-pipe.ts";

const INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}';
const CALL = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"whoami"}}';
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}';
const UNAVAILABLE = { error: { data: { error: { code: "UNAVAILABLE", retryable: true } } } };

let server: Server | undefined;
afterEach(() => server?.close());

/** A server that answers with these statuses, one after the other. */
async function serve(...statuses: readonly number[]): Promise<string> {
  const left = [...statuses];
  server = createServer((_, res) => {
    const status = left.shift() ?? 200;
    res.writeHead(status, { "content-type": "application/json", connection: "close" });
    res.end(status === 200 ? ANSWER : '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}');
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A pipe to the server at the address of `place`; undefined: there is no token yet. */
function pipeTo(place: { url?: string }) {
  const clock = new FakeClock();
  const lines: string[] = [];
  const wrote = Promise.withResolvers<void>();
  const pipe = new McpPipe(
    clock,
    () => {
      if (place.url === undefined) throw new DomainError("unauthenticated", "the token file is missing");
      return { url: place.url, token: "t" };
    },
    (line) => {
      lines.push(line);
      wrote.resolve();
    },
  );
  return { clock, lines, wrote: wrote.promise, pipe };
}

describe("McpPipe", () => {
  it("answers initialize once there are a token and a server", async () => {
    const place: { url?: string } = {};
    const { clock, lines, wrote, pipe } = pipeTo(place);
    pipe.send(INITIALIZE);
    await clock.advance(60_000);
    expect(lines).toEqual([]);
    place.url = await serve();
    await clock.advance(2000);
    await wrote;
    expect(lines).toEqual([ANSWER]);
    await pipe.end();
    expect(clock.sleeping).toBe(0);
  });

  it("answers what is pending 2 s after the end of its input with an error, except for cancelled requests", async () => {
    let requests = 0;
    server = createServer(() => void requests++); // answers none
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const { clock, lines, pipe } = pipeTo({ url: `http://127.0.0.1:${port}` });
    pipe.send(CALL);
    pipe.send(CALL.replace('"id":2', '"id":3'));
    while (requests < 2) await settle();
    pipe.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}');
    const ended = pipe.end();
    while (clock.sleeping === 0) await settle();
    await clock.advance(1999);
    expect(lines).toEqual([]);
    await clock.advance(1);
    await ended;
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { id: 2, error: { message: "threads: no answer came within 2 s of the end of the input" } },
    ]);
    server.closeAllConnections();
  });

  it("sends initialize again after a refused token and a server that is not ready", async () => {
    const { clock, lines, wrote, pipe } = pipeTo({ url: await serve(401, 503) });
    pipe.send(INITIALIZE);
    for (let refused = 0; refused < 2; refused++) {
      while (clock.sleeping === 0) await settle();
      await clock.advance(2000);
    }
    await wrote;
    expect(lines).toEqual([ANSWER]);
    await pipe.end();
  });

  it("makes a later call once a server that was down accepts connections, and only once", async () => {
    const url = await serve();
    server?.close();
    await once(server as Server, "close");
    const { clock, lines, wrote, pipe } = pipeTo({ url });
    pipe.send(CALL);
    while (clock.sleeping === 0) await settle();
    let calls = 0;
    server = createServer((_, res) => {
      calls++;
      res.writeHead(200, { "content-type": "application/json", connection: "close" });
      res.end('{"jsonrpc":"2.0","id":2,"result":{}}');
    });
    await once(server.listen(Number(new URL(url).port), "127.0.0.1"), "listening");
    await clock.advance(300);
    await wrote;
    expect(lines).toEqual(['{"jsonrpc":"2.0","id":2,"result":{}}']);
    expect(calls).toBe(1);
    await pipe.end();
  });

  it("answers a later call with an error after 5 s without a connection", async () => {
    const url = await serve();
    server?.close();
    await once(server as Server, "close");
    const { clock, lines, wrote, pipe } = pipeTo({ url });
    pipe.send(CALL);
    for (let passed = 0; passed < 8000 && lines.length === 0; passed += 1000) {
      while (clock.sleeping === 0 && lines.length === 0) await settle();
      expect(passed > 4000 || lines.length === 0).toBe(true);
      await clock.advance(1000);
    }
    await wrote;
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ id: 2, ...UNAVAILABLE });
    await pipe.end();
  });

  it("answers a later call with an error at once if its connection breaks after the request was sent", async () => {
    let calls = 0;
    server = createServer((req) => {
      calls++;
      req.socket.destroy();
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { clock, lines, wrote, pipe } = pipeTo({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    pipe.send(CALL);
    await wrote;
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ id: 2, ...UNAVAILABLE });
    expect([calls, clock.sleeping]).toEqual([1, 0]);
    await pipe.end();
  });

  it("passes on the error with which the server refuses a token, and refuses what is no message itself", async () => {
    const refusal = { code: "UNAUTHORIZED", message: "the token has expired", retryable: false, details: {} };
    server = createServer((_, res) => {
      res.writeHead(401, { "content-type": "application/json", connection: "close" });
      res.end(JSON.stringify({ error: refusal }));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { lines, wrote, pipe } = pipeTo({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    pipe.send(CALL);
    await wrote;
    pipe.send("[]");
    pipe.send(CALL.replace("whoami", "x".repeat(512 * 1024)));
    await pipe.end();
    const invalid = { code: "VALIDATION_ERROR", retryable: false };
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { id: 2, error: { code: -32_000, message: refusal.message, data: { error: refusal } } },
      { id: null, error: { code: -32_700, data: { error: invalid } } },
      { id: 2, error: { code: -32_000, data: { error: invalid } } },
    ]);
  });

  it("answers a request that the server refuses as faulty with an error that is not to be retried", async () => {
    const { lines, pipe } = pipeTo({ url: await serve(400) });
    pipe.send(CALL);
    while (lines.length < 2) await settle();
    const refused = { id: 2, error: { data: { error: { code: "VALIDATION_ERROR", retryable: false } } } };
    expect(JSON.parse(lines[1] ?? "")).toMatchObject(refused);
    await pipe.end();
  });

  it("answers a later request with an error at once without a token, and initialize after 110 s", async () => {
    const { clock, lines, pipe } = pipeTo({});
    pipe.send(CALL);
    await settle();
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ id: 2, ...UNAVAILABLE });
    pipe.send(INITIALIZE);
    await clock.advance(109_000);
    expect(lines).toHaveLength(1);
    await clock.advance(4000);
    expect(JSON.parse(lines[1] ?? "")).toMatchObject({ id: 1, ...UNAVAILABLE });
    expect(clock.sleeping).toBe(0);
    await pipe.end();
  });
});
