import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import { connect } from "node:tls";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { ask } from "../support/trusted/four-calls.ts";
import { openRoom, type TrustedRoom } from "../support/trusted/trusted-room.ts";

let room: TrustedRoom;
beforeAll(async () => {
  room = await openRoom();
});
afterAll(() => room[Symbol.asyncDispose]());

interface Answer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

function send(method: string, path: string, body = "", token = room.token()): Promise<Answer> {
  const { port, ca, client } = room;
  const headers = token === "" ? {} : { authorization: `Bearer ${token}` };
  const tls = { ca: ca.pem, ...client };
  return new Promise((resolve, reject) => {
    const req = request({ host: "127.0.0.1", port, method, path, headers, agent: false, ...tls }, (res) => {
      let text = "";
      res.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      res.on("end", () => resolve({ status: res.statusCode, headers: res.headers, text }));
    });
    req.on("error", reject);
    req.end(body);
  });
}

it("a route answers at its path over HTTP/1.1 and HTTP/2", async () => {
  expect(await send("POST", "/echo/a?b=c", "hello")).toMatchObject({
    status: 200,
    text: JSON.stringify({ url: "/echo/a", text: "hello" }),
  });
  const { port, ca, client } = room;
  const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: ca.pem, ...client });
  const headers = { ":method": "POST", ":path": "/echo/b", authorization: `Bearer ${room.token()}` };
  const stream = session.request(headers).end("world");
  let text = "";
  stream.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  await once(stream, "close");
  expect(text).toBe(JSON.stringify({ url: "/echo/b", text: "world" }));
  session.destroy();
});

it.each<[string, () => Promise<Answer>, object]>([
  ["another path", () => send("POST", "/echo/a/b"), { status: 404 }],
  ["another method", () => send("GET", "/echo/a"), { status: 405, headers: { allow: "POST" } }],
  [
    "too long a body",
    () => send("POST", "/echo/a", "x".repeat(1025)),
    { status: 429, text: expect.stringContaining('"message":"the request has more than 1024 bytes"') },
  ],
  [
    "a call without a token, with the route's own headers",
    () => send("POST", "/echo/a", "", ""),
    { status: 401, headers: { "www-authenticate": "Bearer", "content-type": "application/json" } },
  ],
])("a route refuses %s", async (_, asked, answer) => {
  expect(await asked()).toMatchObject(answer);
});

it("a route counts its calls by method and code", async () => {
  await send("POST", "/echo/a", "hello");
  await send("POST", "/echo/a", "", "");
  const counted = async () => {
    const text = await room.metrics.registry.metrics();
    return ["ok", "unauthenticated"].every((code) =>
      text.includes(`gastown_rpc_requests_total{method="http/POST /echo/*",code="${code}",protocol="http"}`),
    );
  };
  let isCounted = false;
  await eventually("the counts", () => {
    void counted().then((is) => {
      isCounted = is;
    });
    return isCounted;
  });
});

it("the server keeps a silent WebSocket while an idle connection ends", async () => {
  await using quick = await openRoom({ limits: { idleMs: 300 } });
  const { port, ca, client } = quick;
  const asked = { port, ca: ca.pem, client, token: quick.token() };
  const socket = await ask("socket", asked);
  let isOver = false;
  void socket.ended.then(() => {
    isOver = true;
  });
  for (let i = 0; i < 3; i++) {
    const idle = connect({ host: "127.0.0.1", port, ca: ca.pem, ...client });
    idle.on("error", () => {});
    idle.resume();
    await once(idle, "close");
  }
  expect([socket.code, isOver]).toEqual(["open", false]);
  socket.close();
});
