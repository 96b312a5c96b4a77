import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import type { PeekResult } from "../../internal/session/types.ts";
import type { Backend } from "../../internal/terminal/backend.ts";
import { quickBackend } from "../../internal/terminal/quick-backend.ts";
import { QuickSidecar } from "../../internal/terminal/quick-sidecar.ts";

const REQUEST = { lines: 3, all: false, ansi: false, joinWrapped: true };
const NEVER = new AbortController().signal;

/** The result of a peek at a server that answers like this, and whether the full backend was needed. */
async function peekAt(answer: (response: ServerResponse, body: string) => void, signal = NEVER) {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => answer(response, body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  let asked = false;
  const full = async () => {
    asked = true;
    const peek = async () => ({ output: "by the full one" }) as PeekResult;
    return { peek, [Symbol.asyncDispose]: async () => {} } as unknown as Backend;
  };
  const quick = new QuickSidecar({ host: "127.0.0.1", port: (server.address() as AddressInfo).port }, systemClock);
  try {
    await using backend = quickBackend("here", quick, full);
    return { result: await backend.peek(REQUEST, signal), asked };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it("quick peek asks for JSON, and fills in fields that protobuf omits", async () => {
  let got = "";
  const { result, asked } = await peekAt((response, body) => {
    got = body;
    response.end(JSON.stringify({ output: "a\nb", sessionAlive: true, cols: 80, offset: "9007199254740993" }));
  });
  expect(JSON.parse(got)).toEqual(REQUEST);
  expect(asked).toBe(false);
  expect(result).toMatchObject({
    output: "a\nb",
    alive: true,
    cols: 80,
    rows: 0,
    offset: 9007199254740993n,
    epoch: "",
  });
});

const ODD: Readonly<Record<string, (response: ServerResponse) => void>> = {
  "a refusal": (response) => void response.writeHead(403).end('{"code":"permission_denied"}'),
  "a redirect": (response) => void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
  "no JSON": (response) => void response.end("<html>"),
  "a list": (response) => void response.end("[]"),
  "another type": (response) => void response.end('{"output":1}'),
  "an invalid number": (response) => void response.end('{"offset":"x"}'),
  "a cut connection": (response) => void response.write("{", () => response.destroy()),
  "an endless answer": (response) => {
    const more = () => response.writable && response.write("x".repeat(1 << 20), () => setImmediate(more));
    more();
  },
};

it.each(Object.entries(ODD))("quick peek leaves %s to the full backend", async (_, answer) => {
  expect(await peekAt(answer)).toEqual({ result: { output: "by the full one" }, asked: true });
});

it("quick peek ends with its signal, and then makes no other call", async () => {
  const stop = new AbortController();
  const reason = new Error("stopped");
  await expect(peekAt(() => stop.abort(reason), stop.signal)).rejects.toBe(reason);
});
