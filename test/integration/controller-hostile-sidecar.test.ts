import { once } from "node:events";
import { createSecureServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";
import { SidecarLink } from "../../internal/bridge/sidecar-link.ts";
import { SIDECAR_LIMITS } from "../../internal/controller/pods/sidecar-pool.ts";
import {
  SidecarPeekRequestSchema,
  SidecarService,
  SidecarStatusRequestSchema,
  SidecarStreamEventsRequestSchema,
} from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { ResponseBudget } from "../../internal/rpc/client/response-budget.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { serverTlsOptions } from "../../internal/rpc/common/tls.ts";
import { TestCa } from "../support/bridge/certificates.ts";

const never = new AbortController().signal;
const CALLER = { identity: "ann", role: "read" } as const;

/** A server whose treatment of each connection and call the test defines; and the controller's connection to it. */
async function hostile(
  onStream: (stream: ServerHttp2Stream) => void,
  onSession?: (session: ServerHttp2Session) => void,
  limits = SIDECAR_LIMITS,
) {
  const ca = new TestCa("town");
  const server = createSecureServer(
    serverTlsOptions({ ...ca.issue({ dns: ["sidecar.example"], usages: ["server"] }), ca: ca.pem }),
  );
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => {});
    onSession?.(session);
  });
  server.on("stream", (stream) => {
    stream.on("error", () => {}).resume();
    onStream(stream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const tls = { ...ca.issue({ uris: ["spiffe://town/ns/system/controller"] }), ca: ca.pem };
  const connection = sidecarTransport({
    baseUrl,
    tls,
    serverName: "sidecar.example",
    responseBudget: new ResponseBudget(96 << 20),
    ...limits,
  });
  return {
    link: new SidecarLink(connection),
    sessions,
    [Symbol.asyncDispose]: async () => {
      connection[Symbol.dispose]();
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The same bytes, `count` times. */
const repeated = (bytes: readonly number[], count: number) => Buffer.alloc(bytes.length * count, Buffer.from(bytes));
const answering = (body: Buffer) => (stream: ServerHttp2Stream) => {
  stream.respond({ ":status": 200, "content-type": "application/proto" });
  stream.end(body);
};
const status = create(SidecarStatusRequestSchema);

describe("a sidecar that its agent controls", () => {
  it("is refused when its Status has half a million parts", async () => {
    await using scene = await hostile(answering(repeated([0x3a, 0x00], 600_000)));
    const asked = scene.link.unary(SidecarService.method.status, status, CALLER, never);
    await expect(asked).rejects.toMatchObject({ kind: "exhausted" });
  });

  it("cannot make the controller keep unknown fields", async () => {
    await using scene = await hostile(answering(repeated([0xf8, 0x7f, 0x00], 500_000)));
    const request = create(SidecarPeekRequestSchema);
    const screen = await scene.link.unary(SidecarService.method.peek, request, CALLER, never);
    expect(screen.$unknown ?? []).toHaveLength(0);
  });

  it("does not block other work, however many events it sends at once", async () => {
    const empty = repeated([0, 0, 0, 0, 0], 200_000);
    const flood = (stream: ServerHttp2Stream) => {
      stream.respond({ ":status": 200, "content-type": "application/connect+proto" });
      stream.end(empty);
    };
    await using scene = await hostile(flood, undefined, {
      ...SIDECAR_LIMITS,
      window: empty.length,
    });
    let longest = 0;
    let last = Number.POSITIVE_INFINITY;
    let isOver = false;
    const turn = () => {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
      if (!isOver) setImmediate(turn);
    };
    const request = create(SidecarStreamEventsRequestSchema);
    const events = scene.link.stream(SidecarService.method.streamEvents, request, CALLER, never);
    await events.next();
    await sleep(500); // data that arrives meanwhile is read in one turn
    const began = performance.now();
    turn();
    let count = 1;
    try {
      for await (const _ of events) count++;
    } catch {
      // the answer has no end
    }
    longest = Math.max(longest, performance.now() - last);
    isOver = true;
    expect(count).toBe(200_000);
    expect(longest).toBeLessThan((performance.now() - began) / 2);
  });

  it("cannot make the controller buffer much of an unread stream", async () => {
    const envelope = Buffer.concat([Buffer.from([0, 0, 0, 4, 0]), Buffer.alloc(1024)]);
    let taken = 0;
    await using scene = await hostile((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/connect+proto" });
      const next = () => {
        taken += envelope.length;
        if (!stream.destroyed) stream.write(envelope, next);
      };
      stream.write(envelope, next);
    });
    const request = create(SidecarStreamEventsRequestSchema);
    const events = scene.link.stream(SidecarService.method.streamEvents, request, CALLER, never);
    await events.next();
    for (let before = -1; before !== taken; await sleep(500)) before = taken;
    expect(taken).toBeLessThan(256 * 1024);
    await events.return();
  });

  it("is disconnected when it sends ORIGIN frames", async () => {
    await using scene = await hostile(
      () => {},
      (session) => {
        session.once("remoteSettings", () => {
          for (let i = 0; i < 10 && !session.destroyed; i++) session.origin(`https://${i}.example`);
        });
      },
    );
    const asked = scene.link.unary(SidecarService.method.status, status, CALLER, never);
    await expect(asked).rejects.toMatchObject({ kind: "unavailable" });
    await vi.waitFor(() => expect([...scene.sessions].map(({ destroyed }) => destroyed)).toEqual([true]), 60_000);
  });
});
