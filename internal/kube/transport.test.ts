import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../test/support/fake-clock.ts";
import { silentLogger } from "../../test/support/silent-logger.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import { KubeApiError, KubeUnreachableError } from "./kube-errors.ts";
import { type CallFacts, KubeTransport } from "./transport.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const never = new AbortController().signal;
const POD = '{"kind":"Pod"}';
const get = { method: "GET", path: "/api/v1/namespaces/a/pods/p" } as const;

describe("the transport to the Kubernetes API", () => {
  const sockets = new Set<Socket>();
  const requests: IncomingMessage[] = [];
  const facts: CallFacts[] = [];
  let connections = 0;
  let handler: Handler = (_, response) => response.end(POD);
  const server = createServer((request, response) => {
    requests.push(request);
    handler(request, response);
  });
  server.on("connection", (socket) => {
    connections++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  let token = "one";
  let ended: Promise<void>[] = [];

  beforeEach(async () => {
    [requests.length, facts.length, connections, token] = [0, 0, 0, "one"];
    if (!server.listening) await once(server.listen(0, "127.0.0.1"), "listening");
  });

  let stops: AbortController[] = [];
  afterEach(async () => {
    for (const each of stops) each.abort();
    await Promise.all(ended);
    [stops, ended] = [[], []];
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  function transport(clock: Clock = systemClock): KubeTransport {
    const access = async () => ({
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      tls: {},
      headers: { authorization: `Bearer ${token}` },
    });
    const made = new KubeTransport(
      { credentials: { access }, clock, logger: silentLogger },
      { onAttempt: (each) => facts.push(each) },
    );
    const stop = new AbortController();
    stops.push(stop);
    ended.push(made.run(stop.signal));
    return made;
  }

  /** Answers each request with the next of these handlers; the last one answers all others. */
  function answers(...all: readonly Handler[]): void {
    let next = 0;
    handler = (request, response) => all[Math.min(next++, all.length - 1)]?.(request, response);
  }
  const status =
    (code: number, body: object = {}, headers: Record<string, string> = {}): Handler =>
    (_, response) => {
      response.writeHead(code, headers).end(JSON.stringify(body));
    };

  it("uses at most 3 connections for 300 calls, 50 at a time, and one more for an urgent call", async () => {
    handler = (_, response) => setImmediate(() => response.end(POD));
    const api = transport();
    for (let round = 0; round < 6; round++) {
      await Promise.all(Array.from({ length: 50 }, () => api.call(get, never)));
    }
    expect(requests).toHaveLength(300);
    expect(connections).toBeLessThanOrEqual(3);
    await api.call({ ...get, lane: "urgent" }, never);
    expect(connections).toBeLessThanOrEqual(4);
  });

  it.each([
    ["the Lease", { lane: "urgent" }, {}],
    ["the Lease", { lane: "urgent" }, { lane: "creates" }],
    ["any object", {}, { lane: "creates" }],
    ["a new pod", { lane: "creates" }, {}],
  ] as const)("completes a call for %s while all connections of other calls wait: %j, %j", async (_, quick, slow) => {
    handler = (request, response) => {
      if (request.url?.includes("quick")) response.end(POD);
    };
    const api = transport();
    const stop = new AbortController();
    const hanging = Promise.allSettled(Array.from({ length: 10 }, () => api.call({ ...get, ...slow }, stop.signal)));
    await api.call({ method: "GET", path: "/quick", ...quick }, never);
    stop.abort(new Error("enough"));
    expect((await hanging).map((each) => each.status)).toEqual(Array(10).fill("rejected"));
  });

  it.for(["", "{}", "[]", "null", '"Pod"', '{"kind":', "<html>Bad gateway</html>", '{"kind":7}'])(
    "does not accept %j as an answer to a read or a write",
    async (body) => {
      answers((_, response) => response.end(body));
      for (const method of ["GET", "PUT"] as const) {
        await expect(transport().call({ ...get, method }, never)).rejects.toMatchObject({ kind: "unavailable" });
      }
      answers(
        (_, response) => response.end(body),
        (_, response) => response.end(POD),
      );
      expect(await transport().call(get, never)).toEqual({ kind: "Pod" }); // a read is repeated once
    },
  );

  it("sends the query, and the body as JSON with the given content type", async () => {
    let received = "";
    handler = async (request, response) => {
      for await (const chunk of request) received += chunk;
      response.end(POD);
    };
    const path = "/api/v1/namespaces/a/pods/p";
    const query = { fieldManager: "gt", force: true, fieldValidation: undefined };
    const body = { metadata: { labels: { a: "ö" } } };
    const contentType = "application/merge-patch+json";
    expect(await transport().call({ method: "PATCH", path, query, body, contentType }, never)).toEqual({ kind: "Pod" });
    expect(JSON.parse(received)).toEqual(body);
    expect(requests[0]?.url).toBe(`${path}?fieldManager=gt&force=true`);
    expect(requests[0]?.headers).toMatchObject({ "content-type": contentType, authorization: "Bearer one" });
  });

  it.each([
    [404, { reason: "NotFound" }, "not-found", "not-found"],
    [409, { reason: "AlreadyExists" }, "already-exists", "already-exists"],
    [409, { reason: "Conflict" }, "conflict", "precondition"],
    [410, { reason: "Expired" }, "gone", "unavailable"],
    [403, { reason: "Forbidden" }, "forbidden", "precondition"],
    [422, { reason: "Invalid" }, "invalid", "invalid"],
    [429, { reason: "TooManyRequests" }, "overloaded", "unavailable"],
    [500, {}, "server", "unavailable"],
    [504, { reason: "Timeout", message: "Too large resource version: 9, current: 5" }, "gone", "unavailable"],
    [504, { reason: "Timeout", details: { causes: [{ reason: "ResourceVersionTooLarge" }] } }, "gone", "unavailable"],
  ])("turns %i %o into %s", async (code, body, fault, kind) => {
    handler = status(code, { kind: "Status", ...body });
    const failure = transport().call(get, never);
    await expect(failure).rejects.toBeInstanceOf(KubeApiError);
    await expect(failure).rejects.toMatchObject({ fault, kind, status: code });
  });

  it("never reports our caller as unauthenticated if the API server refuses the controller", async () => {
    handler = status(401, { message: "Unauthorized" });
    await expect(transport().call(get, never)).rejects.toMatchObject({ fault: "unauthenticated", kind: "unavailable" });
  });

  it("reads the token again if the server refuses it, and retries once", async () => {
    answers(
      (_, response) => {
        token = "two";
        response.writeHead(401).end("{}");
      },
      status(200, { kind: "Pod" }),
    );
    expect(await transport().call(get, never)).toEqual({ kind: "Pod" });
    expect(requests.map((request) => request.headers.authorization)).toEqual(["Bearer one", "Bearer two"]);
  });

  it("reads the token again every minute", async () => {
    const clock = new FakeClock();
    const api = transport(clock);
    await api.call(get, never);
    token = "two";
    await clock.advance(59_000);
    await api.call(get, never);
    await clock.advance(1_000);
    await api.call(get, never);
    expect(requests.map((request) => request.headers.authorization)).toEqual([
      "Bearer one",
      "Bearer one",
      "Bearer two",
    ]);
  });

  it.each([429, 503])("after %i, waits as long as Retry-After says and repeats even a write", async (code) => {
    answers(status(code, {}, { "retry-after": "3" }), status(201, { kind: "Pod" }));
    const clock = new FakeClock();
    const api = transport(clock);
    const call = api.call({ method: "POST", path: "/api/v1/namespaces/a/pods", body: {} }, never);
    await reached(1);
    await untilSleeping(clock, 2); // the deadline, and the pause
    await clock.advance(2_999);
    expect(requests).toHaveLength(1);
    await clock.advance(1);
    expect(await call).toEqual({ kind: "Pod" });
    expect(clock.sleeping).toBe(0);
  });

  it("does not wait for a Retry-After beyond the call's deadline", async () => {
    handler = status(429, {}, { "retry-after": "60" });
    const failure = transport().call({ ...get, timeoutMs: 10_000 }, never);
    await expect(failure).rejects.toMatchObject({ fault: "overloaded", retryAfterMs: 60_000 });
    expect(requests).toHaveLength(1);
  });

  it("does not repeat a call that fails with 500 and no Retry-After", async () => {
    handler = status(500);
    await expect(transport().call(get, never)).rejects.toMatchObject({ fault: "server" });
    expect(requests).toHaveLength(1);
  });

  it("repeats a read once after a reset, but never a write", async () => {
    const api = transport();
    answers((request) => request.socket.destroy(), status(200, { kind: "Pod" }));
    expect(await api.call(get, never)).toEqual({ kind: "Pod" });
    handler = (request) => request.socket.destroy();
    requests.length = 0;
    const write = api.call({ method: "DELETE", path: get.path }, never);
    await expect(write).rejects.toBeInstanceOf(KubeUnreachableError);
    expect(requests).toHaveLength(1);
  });

  it("reads a list item by item, and once more from its start if its body ends early", async () => {
    const [list, seen] = ['{"kind":"PodList","items":[{"a":1},{"a":2}],"metadata":{}}', [] as unknown[]];
    answers(
      (_, response) => response.write(list.slice(0, 40), () => response.destroy()),
      (_, response) => response.end(list),
    );
    const keep = (item: unknown) => seen.push(item);
    const answer = await transport().call({ ...get, keep }, never);
    expect(answer).toEqual({ kind: "PodList", items: [2, 3], metadata: {} });
    expect(seen).toEqual([{ a: 1 }, { a: 1 }, { a: 2 }]);
  });

  it("ends a call at its deadline, even if the answer stops halfway", async () => {
    const clock = new FakeClock();
    const api = transport(clock);
    handler = (_, response) => response.write('{"half":');
    const call = api.call({ ...get, timeoutMs: 5_000 }, never);
    call.catch(() => {});
    await reached(1);
    await clock.advance(5_000);
    await expect(call).rejects.toMatchObject({ kind: "deadline" });
    expect(clock.sleeping).toBe(0);
  });

  it("checks before each attempt whether it may still be sent", async () => {
    answers(status(429, {}, { "retry-after": "0" }), status(200, { kind: "Pod" }));
    const beforeAttempt = () => {
      if (requests.length > 0) throw new DomainError("precondition", "not the leader any more");
    };
    const write = transport().call({ method: "PUT", path: get.path, body: {}, beforeAttempt }, never);
    await expect(write).rejects.toThrow("not the leader any more");
    expect(requests).toHaveLength(1);
  });

  it("checks again when the request is sent after waiting for a connection", async () => {
    const held: ServerResponse[] = [];
    handler = (_, response) => held.push(response);
    const api = transport();
    const reads = [0, 1, 2].map(() => api.call(get, never));
    await reached(3);
    let isLeader = true;
    const beforeAttempt = () => {
      if (!isLeader) throw new DomainError("precondition", "not the leader any more");
    };
    const write = api.call({ method: "DELETE", path: get.path, beforeAttempt }, never);
    write.catch(() => {});
    await settle();
    isLeader = false;
    for (const response of held) response.end(POD);
    await expect(write).rejects.toThrow("not the leader any more");
    await Promise.all(reads);
    expect(requests.map(({ method }) => method)).toEqual(["GET", "GET", "GET"]);
  });

  it("reports each attempt with its resource and status", async () => {
    answers(status(429, {}, { "retry-after": "0" }), status(200, { kind: "Pod" }));
    const api = transport();
    await api.call(get, never);
    await api.call({ method: "GET", path: "/apis/coordination.k8s.io/v1/namespaces/a/leases/b" }, never);
    expect(facts.map(({ method, resource, status }) => `${method} ${resource} ${status}`)).toEqual([
      "GET pods 429",
      "GET pods 200",
      "GET leases 200",
    ]);
  });

  it("streams without a deadline once the answer has begun, and ends the request when the reader leaves", async () => {
    const [clock, left] = [new FakeClock(), Promise.withResolvers<void>()];
    let [read, writeMore] = ["", () => {}];
    handler = (request, response) => {
      request.on("close", () => left.resolve());
      response.write("a");
      writeMore = () => void response.write("b");
    };
    for await (const chunk of transport(clock).stream({ ...get, timeoutMs: 1_000 }, never)) {
      read += Buffer.from(chunk).toString();
      if (read === "ab") break;
      await clock.advance(3_600_000);
      if (read !== "") writeMore();
    }
    expect(read).toBe("ab");
    await left.promise;
    expect(clock.sleeping).toBe(0);
  });

  it("distinguishes a stream's reset, an error answer, and a server that never answers", async () => {
    const clock = new FakeClock();
    const api = transport(clock);
    const read = () => Array.fromAsync(api.stream({ ...get, timeoutMs: 1_000 }, never));
    handler = (_, response) => {
      response.write("a");
      setImmediate(() => response.destroy());
    };
    await expect(read()).rejects.toBeInstanceOf(KubeUnreachableError);
    handler = status(410, { reason: "Expired" });
    await expect(read()).rejects.toMatchObject({ fault: "gone" });
    handler = () => {};
    const before = requests.length;
    const silent = read();
    silent.catch(() => {});
    await reached(before + 1);
    await clock.advance(1_000);
    await expect(silent).rejects.toMatchObject({ kind: "deadline" });
  });

  it("ends calls in progress and refuses new ones when it ends", async () => {
    handler = () => {};
    const api = transport();
    const call = api.call(get, never);
    call.catch(() => {});
    await reached(1);
    for (const each of stops) each.abort();
    await Promise.all(ended);
    await expect(call).rejects.toMatchObject({ kind: "cancelled" });
    await expect(api.call(get, never)).rejects.toMatchObject({ kind: "cancelled" });
  });

  async function reached(count: number): Promise<void> {
    while (requests.length < count) await settle();
  }
});

async function untilSleeping(clock: FakeClock, count: number): Promise<void> {
  while (clock.sleeping < count) await settle();
}
