import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { SidecarService, SidecarWatchRequestSchema } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { type SidecarConnection, sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { type Fault, FaultyRelay } from "../support/bridge/faulty-relay.ts";
import { ASK, type RpcFixture, startRpcServer } from "../support/bridge/rpc-server.ts";
import { eventually } from "../support/eventually.ts";

const ca = new TestCa("ours");
const serverTls = ca.issue({ ips: ["127.0.0.1"] });
const clientTls = ca.issue({ uris: ["spiffe://test/client/alice"] });

/** Uncaught errors: each of them ends a process. */
const uncaught: unknown[] = [];
const notice = (err: unknown) => void uncaught.push(err);
beforeAll(() => void process.on("uncaughtExceptionMonitor", notice));
afterAll(() => void process.off("uncaughtExceptionMonitor", notice));
afterEach(() => expect(uncaught.splice(0)).toEqual([]));

const WAYS = ["h2c", "tls"] as const;
/** All steps dial at once in one process, for which 500 ms was repeatedly too short on a busy machine. */
const TIMES = { pingIntervalMs: 30, pingTimeoutMs: 3000, idleMs: 100 };

async function startServer(way: (typeof WAYS)[number]): Promise<RpcFixture> {
  return startRpcServer(way === "tls" ? { tls: serverTls } : {});
}

function connectTo(port: number, way: (typeof WAYS)[number], times = TIMES): SidecarConnection {
  const scheme = way === "tls" ? "https" : "http";
  const tls = way === "tls" ? { tls: clientTls } : {};
  return sidecarTransport({ baseUrl: `${scheme}://127.0.0.1:${port}`, ...tls, ...times });
}

/** The result of a call. A call may last until its deadline, but always ends. */
async function outcome(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "answered",
    (err: unknown) => {
      if (err instanceof DOMException && err.name === "TimeoutError") return "deadline";
      const { kind } = domainErrorOf(err) as { readonly kind?: string };
      return kind ?? String(err);
    },
  );
}

/** The expected results of a broken connection: unavailable and the like, never a bug. */
const ENDS = /^(?:answered|unavailable|deadline|unauthenticated|cancelled)$/;

async function calls(connection: SidecarConnection): Promise<string[]> {
  const client = createClient(SidecarService, connection.transport);
  const { watchOutput } = SidecarService.method;
  const encoded = async () => {
    const request = create(SidecarWatchRequestSchema, { lines: 3 });
    for await (const _ of connection.encoded(watchOutput, request, { signal: AbortSignal.timeout(400) })) break;
  };
  const streamed = async () => {
    for await (const _ of client.watchOutput({ lines: ASK.wait }, { timeoutMs: 400 })) break;
  };
  return Promise.all([
    outcome(client.peek({ lines: 2 }, { timeoutMs: 400 })),
    outcome(streamed()),
    outcome(client.nudge({ message: "x".repeat(3000) }, { timeoutMs: 400 })),
    outcome(encoded()),
  ]);
}

/**
 * The numbers of bytes after which the fault occurs: at the dial, in TLS, in the settings, and in the answers. A
 * handshake has about 3 KiB.
 */
const STEPS = [0, 10, 24, 100, 800, 1500, 2500, 5000];
const FAULTS: readonly Fault[] = ["freeze", "reset", "end"];

describe.each(WAYS)("a client over %s", (way) => {
  it.each(FAULTS)("ends its calls and reconnects after a %s at any step", async (fault) => {
    await using server = await startServer(way);
    const oneStep = async (direction: "to-server" | "to-client", bytes: number) => {
      await using relay = await FaultyRelay.to(server.port);
      using connection = connectTo(relay.port, way);
      relay.plan = { fault, direction, bytes };
      for (const end of await calls(connection)) expect(end, `${direction} ${bytes}`).toMatch(ENDS);
      const under = calls(connection); // on what is left of the first connection, or on the next one
      await sleep(bytes % 150);
      relay.all("reset");
      for (const end of await under) expect(end, `${direction} ${bytes}, reset`).toMatch(ENDS);
      relay.plan = undefined;
      relay.all("reset");
      const { peek } = createClient(SidecarService, connection.transport);
      await eventuallyAnswers(() => peek({ lines: 1 }, { timeoutMs: 10_000 }));
      // An idle connection ends, even if the peer stays silent.
      relay.all("freeze");
      await eventually("the idle connection is closed", () => relay.open === 0, 60_000);
    };
    const steps = (["to-server", "to-client"] as const).flatMap((direction) =>
      STEPS.map((bytes) => oneStep(direction, bytes)),
    );
    await Promise.all(steps);
  });

  it("survives a peer that freezes an idle connection, fails the check, and resets all connections", async () => {
    await using server = await startServer(way);
    await Promise.all(
      [0, 40, 80, 120, 160, 200, 240, 280, 320].map(async (beforeReset) => {
        await using relay = await FaultyRelay.to(server.port);
        using connection = connectTo(relay.port, way, { pingIntervalMs: 10, pingTimeoutMs: 150, idleMs: 100 });
        const { peek } = createClient(SidecarService, connection.transport);
        await eventuallyAnswers(() => peek({ lines: 1 }, { timeoutMs: 10_000 }));
        await sleep(20); // after this, the next call checks the connection
        relay.plan = { fault: "freeze", direction: "to-client", bytes: 0 };
        relay.all("freeze");
        const early = outcome(peek({ lines: 1 }, { timeoutMs: 1000 }));
        await sleep(120); // the idle connection's time is up
        const late = outcome(peek({ lines: 1 }, { timeoutMs: 1000 }));
        await sleep(beforeReset);
        relay.plan = undefined;
        relay.all("reset");
        expect(await early).toMatch(ENDS);
        expect(await late).toMatch(ENDS);
        await eventuallyAnswers(() => peek({ lines: 1 }, { timeoutMs: 10_000 }));
      }),
    );
  });

  it("ends an aborted call at once while the peer is silent", async () => {
    await using server = await startServer(way);
    await using relay = await FaultyRelay.to(server.port);
    using connection = connectTo(relay.port, way, { ...TIMES, pingTimeoutMs: 60_000 });
    relay.plan = { fault: "freeze", direction: "to-client", bytes: 0 };
    const abort = new AbortController();
    const request = create(SidecarWatchRequestSchema, { lines: 1 });
    const stream = connection.encoded(SidecarService.method.watchOutput, request, { signal: abort.signal });
    const next = stream.next();
    await eventually("it dials", () => relay.connections === 1);
    abort.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
  });
});

async function eventuallyAnswers(call: () => Promise<unknown>): Promise<void> {
  const giveUpAt = performance.now() + 60_000;
  let end = await outcome(call());
  while (end !== "answered" && performance.now() < giveUpAt) {
    await sleep(20);
    end = await outcome(call());
  }
  expect(end).toBe("answered");
}
