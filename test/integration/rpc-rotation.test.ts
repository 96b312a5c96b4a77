import { rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { type SidecarConnection, sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import { type LeafNames, TestCa } from "../support/bridge/certificates.ts";
import { ASK, startTlsFolderServer } from "../support/bridge/rpc-server.ts";
import { MountedSecret, writeTls } from "../support/bridge/secret.ts";
import { calmTime } from "../support/calm-time.ts";
import { eventually } from "../support/eventually.ts";

const SERVER: LeafNames = { ips: ["127.0.0.1"], uris: ["spiffe://town/ns/a/session/s1"] };
const CLIENT: LeafNames = { uris: ["spiffe://town/client/ann"] };
const STREAMS = 100;

type Server = Awaited<ReturnType<typeof startTlsFolderServer>>;
type Sidecar = Client<typeof SidecarService>;

const old = new TestCa("old");
const next = new TestCa("next");
let secret: MountedSecret;
let server: Server;

beforeEach(async () => {
  secret = await MountedSecret.create(old.issue(SERVER));
  server = await startTlsFolderServer(secret.dir);
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await secret[Symbol.asyncDispose]();
});

async function metric(name: string): Promise<number> {
  const text = await server.metrics.registry.metrics();
  const lines = text.split("\n").filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

const reloads = () => metric("gastown_tls_reloads_total");
const failures = () => metric("gastown_tls_reload_failures_total");

/** Waits until the server has loaded `count` more sets. */
async function taken(before: number, count = 1): Promise<void> {
  for (let i = 0; (await reloads()) < before + count; i++) {
    if (i > 3000) throw new Error("the server has not taken the new files");
    await sleep(10);
  }
}

async function put(files: Parameters<MountedSecret["put"]>[0]): Promise<void> {
  const before = await reloads();
  await secret.put(files);
  await taken(before);
}

const failureOf = (call: Promise<unknown>) => call.then(() => "no failure", domainErrorOf);

function connectWith(names: LeafNames = CLIENT, ca = old): SidecarConnection & { readonly client: Sidecar } {
  const connection = sidecarTransport({ baseUrl: server.url, tls: ca.issue(names) });
  return { ...connection, client: createClient(SidecarService, connection.transport) };
}

/** An open stream; `ended` gives the reason of its end. */
async function watch(client: Sidecar, signal?: AbortSignal): Promise<{ readonly ended: Promise<unknown> }> {
  const stream = client.watchOutput({ lines: ASK.wait }, signal ? { signal } : {})[Symbol.asyncIterator]();
  await stream.next();
  return { ended: failureOf(stream.next()) };
}

/** Calls one after the other until it is stopped; returns the failures and the number of calls. */
function callOnAndOn(client: Sidecar) {
  const failed: unknown[] = [];
  let stop = false;
  let count = 0;
  const running = (async () => {
    for (; !stop; count++) {
      const failure = await failureOf(client.peek({ lines: 1 }, { timeoutMs: 30_000 }));
      if (failure !== "no failure") failed.push(failure);
    }
  })();
  return {
    async end() {
      stop = true;
      await running;
      return { failed, count };
    },
  };
}

describe("a certificate and its CA are replaced during 100 open streams and further calls,", () => {
  it("no call fails; streams end only when their CA is removed, with that reason, and continue under the new one", async () => {
    using connection = connectWith();
    const { client } = connection;
    const stop = new AbortController();
    const resumed = { count: 0, for: [] as unknown[] };
    const streams = Array.from({ length: STREAMS }, async () => {
      while (!stop.signal.aborted) {
        const { ended } = await watch(client, stop.signal);
        const why = await ended;
        if (stop.signal.aborted) return;
        resumed.count++;
        resumed.for.push(why);
      }
    });
    await eventually("all streams are open", () => server.open() === STREAMS);
    const callers = [callOnAndOn(client), callOnAndOn(client)];

    // Replaces only the server's certificate: no client is affected.
    await put(old.issue(SERVER));
    expect([server.open(), resumed.count]).toEqual([STREAMS, 0]);

    // Replaces the CA in order: trust both, new certificates on both sides, trust only the new one.
    await put({ ...old.issue(SERVER), ca: old.pem + next.pem });
    connection.setTls({ ...old.issue(CLIENT), ca: old.pem + next.pem });
    await put({ ...next.issue(SERVER), ca: old.pem + next.pem });
    connection.setTls({ ...next.issue(CLIENT), ca: old.pem + next.pem });
    expect((await client.peek({ lines: 1 })).output).toBe("line\n");
    expect([server.open(), resumed.count]).toEqual([STREAMS, 0]);
    await put({ ...next.issue(SERVER), ca: next.pem });
    await eventually("all streams go on", () => resumed.count >= STREAMS && server.open() === STREAMS);

    const calls = await Promise.all(callers.map((caller) => caller.end()));
    stop.abort();
    await Promise.all(streams);
    expect(calls.flatMap(({ failed }) => failed)).toEqual([]);
    expect(calls.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(50);
    expect(resumed.count).toBe(STREAMS);
    for (const why of resumed.for) {
      expect(why).toMatchObject({ kind: "unavailable", message: expect.stringContaining("no longer trusted") });
    }
    expect(await failures()).toBe(0);
  });
});

describe("a connection", () => {
  it("ends when its caller's certificate expires, and others continue", async () => {
    using short = connectWith({ ...CLIENT, days: 8 / 86_400 });
    using long = connectWith();
    const ends = [await watch(short.client), await watch(long.client)];
    const passed = calmTime();
    expect(await ends[0]?.ended).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("has expired"),
    });
    expect(passed()).toBeLessThan(9000);
    await eventually("its handler has ended", () => server.open() === 1);
    expect(await failureOf(short.client.peek({ lines: 1 }))).toMatchObject({ kind: "unauthenticated" });
    expect((await long.client.peek({ lines: 1 })).output).toBe("line\n");
  });

  it("ends when its caller is revoked, with that reason, which a new one gets too, and others continue", async () => {
    const revoked = old.issue(CLIENT);
    using bad = sidecarTransport({ baseUrl: server.url, tls: revoked });
    using good = connectWith();
    const client = createClient(SidecarService, bad.transport);
    const ends = [await watch(client), await watch(good.client)];
    const waiting = failureOf(client.peek({ lines: ASK.wait }));
    await eventually("all are open", () => server.open() === 3);
    await put({ ...old.issue(SERVER), crl: old.revoke([revoked]) });
    const reason = { kind: "unauthenticated", message: "the caller's certificate is revoked" };
    expect(await ends[0]?.ended).toMatchObject(reason);
    expect(await waiting).toMatchObject(reason);
    using again = sidecarTransport({ baseUrl: server.url, tls: revoked });
    expect(await failureOf(createClient(SidecarService, again.transport).peek({ lines: 1 }))).toMatchObject(reason);
    expect((await good.client.peek({ lines: 1 })).output).toBe("line\n");
    expect(server.open()).toBe(1);
    expect(server.log.some((line) => line.includes("spiffe://town/client/ann") && line.includes("is revoked"))).toBe(
      true,
    );
  });

  it("ends when its caller's CA is removed, even if the CA of the server's certificate stays", async () => {
    await put({ ...old.issue(SERVER), ca: old.pem + next.pem });
    using leaving = sidecarTransport({ baseUrl: server.url, tls: { ...next.issue(CLIENT), ca: old.pem } });
    const client = createClient(SidecarService, leaving.transport);
    const { ended } = await watch(client);
    await put(old.issue(SERVER));
    expect(await ended).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("no longer trusted"),
    });
    expect(await failureOf(client.peek({ lines: 1 }))).toMatchObject({ kind: "unauthenticated" });
  });

  it("of a caller below an intermediate CA is accepted while ca.crt contains that CA", async () => {
    const between = new TestCa("between", old);
    using connection = connectWith(CLIENT, between);
    const refused = await failureOf(connection.client.peek({ lines: 1 }));
    expect(refused).toMatchObject({
      kind: "unauthenticated",
      message: expect.stringContaining("not itself trusted here"),
    });
    await put({ ...old.issue(SERVER), ca: old.pem + between.pem });
    using again = connectWith(CLIENT, between);
    const { ended } = await watch(again.client);
    await put(old.issue(SERVER));
    expect(await ended).toMatchObject({ kind: "unavailable" });
  });
});

describe("unusable files", () => {
  it("leave the previous pair in use and are counted once each: cut, mismatched, expired, empty, wrong name, wrong CRL", async () => {
    const good = old.issue(SERVER);
    const bad = [
      { ...good, cert: good.cert.slice(0, 300) },
      { ...old.issue(SERVER), key: good.key },
      old.issue({ ...SERVER, days: -0.5 }),
      { cert: "", key: "", ca: "" },
      old.issue({ ...SERVER, uris: ["spiffe://town/ns/a/session/another"] }),
      { ...good, crl: next.revoke([]) },
    ];
    using connection = connectWith();
    const { ended } = await watch(connection.client);
    let open = true;
    void ended.then(() => {
      open = false;
    });
    for (const [i, files] of bad.entries()) {
      await secret.put(files);
      for (let waited = 0; (await failures()) <= i && waited < 3000; waited++) await sleep(10);
      expect(await failures()).toBe(i + 1);
      using another = connectWith();
      expect((await another.client.peek({ lines: 1 })).output).toBe("line\n");
    }
    const text = await server.metrics.registry.metrics();
    for (const reason of ["unreadable", "mismatch", "expired", "identity", "crl"]) {
      expect(text).toMatch(new RegExp(`reload_failures_total\\{reason="${reason}"\\} [12]\n`));
    }
    expect(text).toMatch(/gastown_tls_certificate_expiry_timestamp_seconds 1\d{9}\n/);
    await put(old.issue(SERVER));
    expect(open).toBe(true);
    connection[Symbol.dispose]();
    await ended;
  });

  it("cause a bounded amount of work when they are swapped 1,000 times", async () => {
    using connection = connectWith();
    const sets = [old.issue(SERVER), old.issue(SERVER), { cert: "", key: "", ca: "" }];
    const versions = await Promise.all(sets.map((files) => secret.prepare(files)));
    const before = { at: performance.now(), loads: (await reloads()) + (await failures()) };
    const caller = callOnAndOn(connection.client);
    for (let i = 0; i < 1000; i++) await secret.swapTo(versions[i % versions.length] ?? "");
    const seconds = (performance.now() - before.at) / 1000;
    const { failed } = await caller.end();
    expect(failed).toEqual([]);
    const loads = (await reloads()) + (await failures()) - before.loads;
    expect(loads).toBeLessThanOrEqual(seconds * 5 + 1);
    const last = old.issue(SERVER);
    await put(last);
    using another = connectWith();
    expect((await another.client.peek({ lines: 1 })).output).toBe("line\n");
  });
});

describe("a plain folder", () => {
  it("that is written in place, file by file, is loaded as soon as its files match", async () => {
    const plain = join(secret.dir, "plain");
    await writeTls(plain, old.issue(SERVER));
    await using fixture = await startTlsFolderServer(plain);
    const now = next.issue(SERVER);
    await writeFile(join(plain, "tls.crt"), now.cert);
    await sleep(300);
    await truncate(join(plain, "tls.key"));
    await sleep(300);
    await writeFile(join(plain, "tls.key"), now.key);
    await sleep(300);
    await writeFile(join(plain, "ca.crt"), now.ca);
    using connection = sidecarTransport({ baseUrl: fixture.url, tls: next.issue(CLIENT) });
    const client = createClient(SidecarService, connection.transport);
    let answer: unknown;
    for (let i = 0; i < 1000 && answer !== "no failure"; i++) {
      answer = await failureOf(client.peek({ lines: 1 }));
      await sleep(20);
    }
    expect(answer).toBe("no failure");
    await rm(plain, { recursive: true });
  });
});
