import { X509Certificate } from "node:crypto";
import { EventEmitter } from "node:events";
import type { TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { TestCa } from "../../../test/support/bridge/certificates.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { DomainError } from "../../base/errors.ts";
import { Connections } from "./connections.ts";
import type { Peer } from "./peer.ts";

const DAY = 86_400_000;
const certificate = new X509Certificate(new TestCa("town").issue({ uris: ["spiffe://town/client/ann"], days: 2 }).cert);
const GONE = new DomainError("unavailable", "connect again");
const REVOKED = new DomainError("unauthenticated", "revoked");

/** An HTTP/2 connection, as far as it matters here. */
function session() {
  const socket = {
    encrypted: true,
    authorized: true,
    getPeerX509Certificate: () => certificate,
  } as unknown as TLSSocket;
  const done: string[] = [];
  const emitter = new EventEmitter();
  const connection = Object.assign(emitter, {
    socket,
    close: () => done.push("goaway"),
    destroy() {
      done.push("destroyed");
      emitter.emit("close");
    },
  });
  return { connection: connection as never, done };
}

function watched() {
  const clock = new FakeClock(Date.now());
  let refusal: DomainError | undefined;
  const connections = new Connections({ clock, logger: silentLogger }, () =>
    clock.now() >= certificate.validToDate.getTime() ? GONE : refusal,
  );
  const stop = new AbortController();
  const running = connections.run(stop.signal);
  return {
    clock,
    connections,
    judge(next: DomainError | undefined) {
      refusal = next;
      connections.reconsider();
    },
    async end() {
      stop.abort();
      await running;
      expect(clock.sleeping).toBe(0);
    },
  };
}

function tracked(connections: Connections, peer: Peer, kind: "stream" | "unary"): AbortSignal {
  const call = new AbortController();
  connections.track(peer, call, kind === "unary");
  return call.signal;
}

describe("a connection", () => {
  it("stays open, as do its calls, while its owner is admitted", async () => {
    const { clock, connections, judge, end } = watched();
    const { connection, done } = session();
    const call = tracked(connections, connections.add(connection), "stream");
    judge(undefined);
    await clock.advance(DAY);
    expect([done, call.aborted]).toEqual([[], false]);
    await end();
  });

  it("whose owner may return with another certificate is closed gracefully: no new calls, streams end at once, other calls within 5 s", async () => {
    const { clock, connections, judge, end } = watched();
    const { connection, done } = session();
    const peer = connections.add(connection);
    const stream = tracked(connections, peer, "stream");
    const unary = tracked(connections, peer, "unary");
    judge(GONE);
    await clock.advance(1);
    expect(done).toEqual(["goaway"]);
    expect([stream.aborted, stream.reason, unary.aborted]).toEqual([true, GONE, false]);
    expect(connections.refusalOf(peer)).toBe(GONE);
    await clock.advance(5000);
    expect(unary.reason).toBe(GONE);
    await clock.advance(1000);
    expect(done).toEqual(["goaway", "destroyed"]);
    await end();
  });

  it("whose owner is not trusted has its calls refused for a second, and is then cut", async () => {
    const { clock, connections, judge, end } = watched();
    const { connection, done } = session();
    const peer = connections.add(connection);
    const unary = tracked(connections, peer, "unary");
    judge(REVOKED);
    await clock.advance(1);
    expect([unary.reason, connections.refusalOf(peer), done]).toEqual([REVOKED, REVOKED, []]);
    await clock.advance(1000);
    expect(done).toEqual(["destroyed"]);
    await end();
  });

  it("with a refused certificate is refused from its first call on", async () => {
    const { connections, judge, clock, end } = watched();
    judge(REVOKED);
    const { connection, done } = session();
    expect(connections.refusalOf(connections.add(connection))).toBe(REVOKED);
    await clock.advance(1000);
    expect(done).toEqual(["destroyed"]);
    await end();
  });

  it("ends when its certificate expires, to the millisecond", async () => {
    const { clock, connections, end } = watched();
    const { connection, done } = session();
    connections.add(connection);
    const left = certificate.validToDate.getTime() - clock.now();
    await clock.advance(left - 1);
    expect(done).toEqual([]);
    await clock.advance(1);
    expect(done).toEqual(["goaway"]);
    await clock.advance(10_000);
    await end();
  });

  it("that closes by itself leaves nothing behind", async () => {
    const { clock, connections, judge, end } = watched();
    const { connection, done } = session();
    connections.add(connection);
    (connection as EventEmitter).emit("close");
    judge(REVOKED);
    await clock.advance(10_000);
    expect(done).toEqual([]);
    await end();
  });
});

it("a call that has ended is not ended again with its connection", async () => {
  const { clock, connections, judge, end } = watched();
  const peer = connections.add(session().connection);
  const call = new AbortController();
  connections.track(peer, call, false);
  call.abort("closed");
  judge(REVOKED);
  await clock.advance(1000);
  expect(call.signal.reason).toBe("closed");
  await end();
});
