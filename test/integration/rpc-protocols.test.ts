import { request as httpRequest } from "node:http";
import { create, toBinary } from "@bufbuild/protobuf";
import { type ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DomainError } from "../../internal/base/errors.ts";
import { SidecarPeekRequestSchema, SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { ErrorInfoSchema } from "../../internal/gen/google/rpc/error_details_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import { ASK, type RpcFixture, startRpcServer } from "../support/bridge/rpc-server.ts";

let fixture: RpcFixture;
beforeAll(async () => {
  fixture = await startRpcServer();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const transports: Record<string, (baseUrl: string) => Transport> = {
  "Connect, HTTP/2": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2", idleConnectionTimeoutMs: 500 }),
  "Connect, HTTP/1.1": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" }),
  "Connect JSON, HTTP/1.1": (baseUrl) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false }),
  "Connect GET, HTTP/1.1": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1", useHttpGet: true }),
  "gRPC, HTTP/2": (baseUrl) => createGrpcTransport({ baseUrl, idleConnectionTimeoutMs: 500 }),
  "gRPC-Web, HTTP/2": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "2", idleConnectionTimeoutMs: 500 }),
  "gRPC-Web, HTTP/1.1": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  "our own transport": (baseUrl) => sidecarTransport({ baseUrl }).transport,
  "our own transport, gRPC": (baseUrl) => sidecarTransport({ baseUrl, protocol: "grpc" }).transport,
};

async function collect(messages: AsyncIterable<{ readonly output: string }>, into: string[] = []): Promise<string[]> {
  for await (const { output } of messages) into.push(output);
  return into;
}

describe.each(Object.entries(transports))("%s", (_name, transport) => {
  const client = () => createClient(SidecarService, transport(fixture.url));

  it("answers a unary call with 64-bit numbers intact", async () => {
    const answer = await client().peek({ lines: 3 });
    expect(answer).toMatchObject({ output: "line\nline\nline\n", offset: 2n ** 60n });
  });

  it("streams all messages in order", async () => {
    expect(await collect(client().watchOutput({ lines: 500 }))).toEqual(["first", ...numbers(1, 500)]);
  });

  it("sends a stream's headers before its first message if the handler does, and the messages after them", async () => {
    const began = Promise.withResolvers<Headers>();
    const got: string[] = [];
    const failed = collect(client().watchOutput({ lines: ASK.headFirst }, { onHeader: began.resolve }), got).catch(
      (err: unknown) => err,
    );
    expect((await began.promise).get("content-type")).toMatch(/^application\/(connect|grpc|grpc-web)\+(proto|json)/);
    expect(got).toEqual([]);
    await client().peek({ lines: ASK.release });
    expect(domainErrorOf(await failed)).toMatchObject({ kind: "precondition", fields: { epoch: "e2" } });
    expect(got).toEqual(["first"]);
  });

  it("carries a failure's kind, message and fields", async () => {
    const err = domainErrorOf(
      await client()
        .peek({ lines: ASK.notFound })
        .catch((err: unknown) => err),
    );
    expect(err).toBeInstanceOf(DomainError);
    expect(err).toMatchObject({ kind: "not-found", message: 'no session "x"', fields: { epoch: "e1", head: "7" } });
  });

  it("carries a failure from inside a stream, after the messages before it", async () => {
    const got: string[] = [];
    const failed = collect(client().watchOutput({ lines: ASK.failLate }), got).catch((err: unknown) => err);
    expect(domainErrorOf(await failed)).toMatchObject({ kind: "precondition", fields: { epoch: "e2" } });
    expect(got).toEqual(["first"]);
  });

  it("reports a bug without details", async () => {
    const unary = await client()
      .peek({ lines: ASK.bug })
      .catch((err: unknown) => err);
    const stream = await collect(client().watchOutput({ lines: ASK.bug })).catch((err: unknown) => err);
    for (const err of [unary, stream]) {
      expect(err).toMatchObject({ rawMessage: "internal error", code: 13, details: [expect.anything()] });
      expect((err as ConnectError).findDetails(ErrorInfoSchema)).toMatchObject([{ reason: "internal", metadata: {} }]);
    }
    expect(domainErrorOf(unary)).toBe(unary);
  });

  it("refuses a message over 512 KiB as exhausted, and takes 64 KiB of text that needs escaping", async () => {
    const tooLarge = client()
      .nudge({ message: "x".repeat(512 * 1024) })
      .catch((err: unknown) => err);
    expect(domainErrorOf(await tooLarge)).toMatchObject({ kind: "exhausted" });
    const message = "\u0001".repeat(65_536);
    expect((await client().nudge({ message })).deliveredText).toBe(message);
  });
});

it("logs a bug with its stack and method", () => {
  const records = fixture.log.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50);
  const methods = new Set(records.map(({ method }) => method));
  expect(methods).toEqual(new Set(["gastown.v1.SidecarService/Peek", "gastown.v1.SidecarService/WatchOutput"]));
  for (const { err } of records) expect(err.stack).toContain("rpc-server.ts");
});

it.each(["Connect, HTTP/2", "gRPC, HTTP/2", "gRPC-Web, HTTP/2"])("%s: echoes in both directions", async (name) => {
  const client = createClient(SidecarService, transports[name]?.(fixture.url) as Transport);
  async function* inputs() {
    for (const text of ["a", "b"]) yield { input: { case: "data" as const, value: Buffer.from(text) } };
  }
  const got: string[] = [];
  for await (const { output } of client.attach(inputs())) {
    got.push(output.case === "data" ? Buffer.from(output.value).toString() : String(output.case));
  }
  expect(got).toEqual(["a", "b", "end"]);
});

it("refuses a stream in both directions over HTTP/1.1 with a status, not by hanging", async () => {
  const answer = await post("/gastown.v1.SidecarService/Attach", "application/connect+proto", Buffer.alloc(0));
  expect(answer).toMatchObject({ status: 505 });
});

it("speaks gRPC over HTTP/1.1 with trailers", async () => {
  const message = toBinary(SidecarPeekRequestSchema, create(SidecarPeekRequestSchema, { lines: 1 }));
  const answer = await post("/gastown.v1.SidecarService/Peek", "application/grpc+proto", envelope(message));
  expect(answer).toMatchObject({ status: 200, trailers: { "grpc-status": "0" } });
});

it("answers 404 for unknown paths and 415 for other content types", async () => {
  expect(await post("/nothing", "application/json", Buffer.from("{}"))).toMatchObject({ status: 404 });
  expect(await post("/gastown.v1.SidecarService/Peek", "text/plain", Buffer.from("{}"))).toMatchObject({ status: 415 });
});

it("counts calls by method, code and protocol", async () => {
  const text = await fixture.metrics.registry.metrics();
  const count = (labels: string) =>
    Number(text.match(new RegExp(`^gastown_rpc_requests_total\\{${labels}\\} (\\d+)`, "m"))?.[1]);
  const method = 'method="gastown.v1.SidecarService/WatchOutput"';
  for (const protocol of ["connect", "grpc", "grpc-web"]) {
    expect(count(`${method},code="failed_precondition",protocol="${protocol}"`)).toBeGreaterThan(0);
  }
  expect(text).toMatch(/^gastown_rpc_active_streams\{method="gastown.v1.SidecarService\/WatchOutput"\} 0$/m);
});

function numbers(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, i) => String(from + i));
}

function envelope(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
  readonly trailers: NodeJS.Dict<string>;
}

function post(path: string, contentType: string, body: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      host: "127.0.0.1",
      port: fixture.port,
      path,
      method: "POST",
      headers: { "content-type": contentType },
    };
    const req = httpRequest(options, async (res) => {
      const chunks = await res.setEncoding("utf8").toArray();
      resolve({ status: res.statusCode, body: chunks.join(""), trailers: res.trailers });
    });
    req.on("error", reject).end(body);
  });
}
