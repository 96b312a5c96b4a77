import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect, constants } from "node:http2";
import { gzipSync } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { endStreamFromJson, errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { trailerParse } from "@connectrpc/connect/protocol-grpc-web";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ErrorInfoSchema } from "../../internal/gen/google/rpc/error_details_pb.ts";
import { ASK, type RpcFixture, startRpcServer } from "../support/bridge/rpc-server.ts";

let fixture: RpcFixture;
beforeAll(async () => {
  fixture = await startRpcServer();
});
afterAll(() => fixture[Symbol.asyncDispose]());

interface Answer {
  readonly status: number | undefined;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly trailers: Headers;
}

function post(path: string, headers: Readonly<Record<string, string>>, body: Uint8Array): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port: fixture.port, path, method: "POST", headers };
    const req = httpRequest(options, async (res) => {
      const chunks: Buffer[] = await res.toArray();
      const [head, trailers] = [res.headers, res.trailers].map((all) => new Headers(all as Record<string, string>));
      resolve({
        status: res.statusCode,
        headers: head as Headers,
        body: Buffer.concat(chunks),
        trailers: trailers as Headers,
      });
    });
    req.on("error", reject).end(body);
  });
}

const unreadable = new ConnectError("the answer holds no error", Code.Unknown);

/** The payload of the last envelope. */
function lastEnvelope(body: Buffer): Buffer {
  let payload: Buffer = Buffer.alloc(0);
  for (let at = 0; at < body.length; at += 5 + payload.length)
    payload = body.subarray(at + 5, at + 5 + body.readUInt32BE(at + 1));
  return payload;
}

function envelope(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

interface Protocol {
  readonly json: string;
  readonly binary: string;
  readonly frame: (message: Uint8Array) => Uint8Array;
  readonly encoding: string;
  readonly timeout: readonly [string, string];
  readonly errorOf: (answer: Answer) => ConnectError | undefined;
}

const inEnvelope = { frame: envelope, encoding: "grpc-encoding", timeout: ["grpc-timeout", "20m"] } as const;
const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  Connect: {
    json: "application/json",
    binary: "application/proto",
    frame: (message) => message,
    encoding: "content-encoding",
    timeout: ["connect-timeout-ms", "20"],
    errorOf: ({ body }) => errorFromJsonBytes(body, undefined, unreadable),
  },
  gRPC: {
    json: "application/grpc+json",
    binary: "application/grpc",
    ...inEnvelope,
    errorOf: ({ headers, trailers }) => findTrailerError(trailers) ?? findTrailerError(headers),
  },
  "gRPC-Web": {
    json: "application/grpc-web+json",
    binary: "application/grpc-web",
    ...inEnvelope,
    errorOf: ({ headers, body }) => findTrailerError(trailerParse(lastEnvelope(body))) ?? findTrailerError(headers),
  },
};
const STREAM: Protocol = {
  json: "application/connect+json",
  binary: "application/connect+proto",
  frame: envelope,
  encoding: "connect-content-encoding",
  timeout: ["connect-timeout-ms", "20"],
  errorOf: ({ body }) => endStreamFromJson(lastEnvelope(body)).error,
};

const SERVICE = "/gastown.v1.SidecarService";
const NO_MESSAGE = Buffer.from([0x0a, 0x7f, 0x01]);

function expectInfo(error: ConnectError | undefined, code: Code, reason: string): void {
  expect(error?.findDetails(ErrorInfoSchema)).toMatchObject([{ reason, domain: "gastown" }]);
  expect(error).toMatchObject({ code });
}

describe.each([
  ...Object.entries(PROTOCOLS).map(([name, protocol]) => [`${name}, unary`, protocol, "Peek"] as const),
  ...Object.entries({ ...PROTOCOLS, Connect: STREAM }).map(
    ([name, protocol]) => [`${name}, stream`, protocol, "WatchOutput"] as const,
  ),
])("%s: the error's details name a reason in the domain gastown", (_name, protocol, method) => {
  const call = async (
    type: string,
    message: Uint8Array,
    headers: Record<string, string> = {},
    path = `${SERVICE}/${method}`,
  ) => protocol.errorOf(await post(path, { "content-type": type, ...headers }, protocol.frame(message)));
  const { json, binary } = protocol;

  it.each([
    ["an unknown method", `${SERVICE}/Nothing`],
    ["an unknown service", "/gastown.v1.NoService/Peek"],
  ])("for %s", async (_what, path) => {
    for (const type of [json, binary])
      expectInfo(await call(type, Buffer.alloc(0), {}, path), Code.Unimplemented, "unimplemented");
  });

  it("for JSON that cannot be decoded", async () => {
    for (const text of ["{", '{"lines": "many"}', "\u00ff"])
      expectInfo(await call(json, Buffer.from(text)), Code.InvalidArgument, "invalid");
  });

  it("for binary that cannot be decoded, as the caller's mistake", async () => {
    expectInfo(await call(binary, NO_MESSAGE), Code.InvalidArgument, "invalid");
  });

  it("for a message over the limit", async () => {
    const error = await call(json, Buffer.from(JSON.stringify({ unknown: "x".repeat(600 * 1024) })));
    expectInfo(error, Code.ResourceExhausted, "exhausted");
  });

  it("for a compressed request", async () => {
    const error = await call(json, gzipSync("{}"), { [protocol.encoding]: "gzip" });
    expectInfo(error, Code.Unimplemented, "unimplemented");
  });

  it("for an exceeded deadline", async () => {
    const [name, value] = protocol.timeout;
    const error = await call(json, Buffer.from(JSON.stringify({ lines: ASK.wait })), { [name]: value });
    expectInfo(error, Code.DeadlineExceeded, "deadline");
  });

  it("for an invalid deadline", async () => {
    const [name] = protocol.timeout;
    expectInfo(await call(json, Buffer.from("{}"), { [name]: "soon" }), Code.InvalidArgument, "invalid");
  });

  it("for a bug in a handler, without its text", async () => {
    const error = await call(json, Buffer.from(JSON.stringify({ lines: ASK.bug })));
    expectInfo(error, Code.Internal, "internal");
    expect(error?.rawMessage).toBe("internal error");
  });
});

it("a reason is named for an unsupported content type and for a wrong HTTP method or version", async () => {
  const cases: [string, string, number, Code, string][] = [
    ["Peek", "text/plain", 415, Code.InvalidArgument, "invalid"],
    ["Attach", "application/connect+proto", 505, Code.Unimplemented, "unimplemented"],
  ];
  for (const [method, type, status, code, reason] of cases) {
    const answer = await post(`${SERVICE}/${method}`, { "content-type": type }, Buffer.alloc(0));
    expect(answer.status).toBe(status);
    expectInfo(errorFromJsonBytes(answer.body, undefined, unreadable), code, reason);
  }
  const got = await fetch(`${fixture.url}${SERVICE}/Nudge`);
  expect(got.status).toBe(405);
  expectInfo(errorFromJsonBytes(await got.bytes(), undefined, unreadable), Code.Unimplemented, "unimplemented");
});

it("an unknown method over gRPC is answered with headers that end the stream, as gRPC requires", async () => {
  const session = connect(fixture.url);
  const stream = session.request({
    ":method": "POST",
    ":path": "/nobody.Nowhere/Do",
    "content-type": "application/grpc",
  });
  stream.resume().end(envelope(Buffer.alloc(0)));
  const [headers, flags] = await once(stream, "response");
  session.destroy();
  expect(headers["grpc-status"]).toBe(String(Code.Unimplemented));
  expect(flags & constants.NGHTTP2_FLAG_END_STREAM).not.toBe(0);
});

it("an unknown method over Connect is answered with 404, and any other path without a body", async () => {
  const headers = { "content-type": "application/json" };
  expect(await post(`${SERVICE}/Nothing`, headers, Buffer.from("{}"))).toMatchObject({ status: 404 });
  const other = await post("/nothing", headers, Buffer.from("{}"));
  expect([other.status, other.body.length]).toEqual([404, 0]);
});
