import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { request as httpsRequest } from "node:https";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DomainError } from "../../internal/base/errors.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import type { TlsMaterial } from "../../internal/rpc/common/tls.ts";
import { type LeafNames, TestCa } from "../support/bridge/certificates.ts";
import { startTlsFolderServer } from "../support/bridge/rpc-server.ts";
import { MountedSecret } from "../support/bridge/secret.ts";
import { requireComponent } from "../support/cluster/components.ts";

const town = new TestCa("town");
const stranger = new TestCa("town");
const CLIENT: LeafNames = { uris: ["spiffe://town/client/ann"] };
const revoked = town.issue(CLIENT);

let secret: MountedSecret;
let server: Awaited<ReturnType<typeof startTlsFolderServer>>;
let dir: string;
beforeAll(async () => {
  const files = town.issue({ ips: ["127.0.0.1"], uris: ["spiffe://town/ns/agents/session/s1"] });
  secret = await MountedSecret.create({ ...files, crl: town.revoke([revoked]) });
  server = await startTlsFolderServer(secret.dir, { hostCheck: { allowHosts: [], anyHost: true } });
  dir = await mkdtemp(join(tmpdir(), "gt-refused-"));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await secret[Symbol.asyncDispose]();
  await rm(dir, { recursive: true });
});

async function refusalOf(tls: TlsMaterial): Promise<DomainError> {
  using connection = sidecarTransport({ baseUrl: server.url, tls: { ...tls, ca: town.pem } });
  const client = createClient(SidecarService, connection.transport);
  const answer = await client.peek({ lines: 1 }, { timeoutMs: 5000 }).then(() => "no refusal", domainErrorOf);
  return answer as DomainError;
}

/** Internals of the server, or contents of an agent. */
const LEAKS = /line\n|\/(tmp|work|home|root)\/|node_modules|[.]ts\b|-----BEGIN|at \w+ \(/;

describe("a caller is refused", () => {
  it.each<[string, TlsMaterial, string, string]>([
    ["with a certificate of another CA of the same name", stranger.issue(CLIENT), "unauthenticated", ""],
    ["with an expired certificate", town.issue({ ...CLIENT, days: -0.5 }), "unauthenticated", ""],
    ["with one that is not valid yet", town.issue({ ...CLIENT, startDays: 0.5 }), "unauthenticated", ""],
    ["with a revoked one", revoked, "unauthenticated", "is revoked"],
    ["with one for servers", town.issue({ ...CLIENT, usages: ["server"] }), "unauthenticated", ""],
    ["with one without an extended key usage", town.issue({ ...CLIENT, usages: [] }), "unauthenticated", "clientAuth"],
    [
      "with a sidecar's",
      town.issue({ ips: ["127.0.0.1"], uris: ["spiffe://town/ns/agents/session/s2"] }),
      "unauthenticated",
      "",
    ],
    [
      "with a sidecar's that may also be used by clients",
      town.issue({ uris: ["spiffe://town/ns/agents/session/s2"], usages: ["client", "server"] }),
      "denied",
      "sidecars may not call",
    ],
  ])("%s", async (_, tls, kind, words) => {
    const calls = server.peers.length;
    const refusal = await refusalOf(tls);
    expect(refusal).toMatchObject({ kind, message: expect.stringContaining(words) });
    expect(refusal.message).not.toMatch(LEAKS);
    expect(server.peers.length).toBe(calls);
  });

  it("unless its certificate is valid", async () => {
    expect(await refusalOf(town.issue(CLIENT))).toBe("no refusal");
  });
});

describe("a connection is refused", () => {
  const tlsError = (options: object) =>
    new Promise<string>((resolve) => {
      const socket = connectTls({
        host: "127.0.0.1",
        port: server.port,
        ca: town.pem,
        ALPNProtocols: ["h2"],
        ...options,
      });
      socket
        .on("error", (err: NodeJS.ErrnoException) => resolve(err.code ?? err.message))
        .on("end", () => resolve("ended"));
    });

  it("without certificate", async () => {
    expect(await tlsError({})).toBe("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED");
  });

  it.each(["TLSv1.2", "TLSv1.1"] as const)("with %s", async (version) => {
    const refused = await tlsError({ ...town.issue(CLIENT), minVersion: "TLSv1.1", maxVersion: version });
    expect(refused).toMatch(/ALERT_PROTOCOL_VERSION|NO_PROTOCOLS|UNSUPPORTED_PROTOCOL/);
  });

  it("that speaks neither HTTP/2 nor HTTP/1.1", async () => {
    const refused = await tlsError({ ...town.issue(CLIENT), ALPNProtocols: ["smtp"] });
    expect(refused).toBe("ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL");
  });

  it.each([
    ["plaintext HTTP/1.1", "GET /gastown.v1.SidecarService/Status HTTP/1.1\r\nhost: x\r\n\r\n"],
    ["plaintext HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["noise", "\u0000\u0001\u0002\u0003".repeat(100)],
  ])("that speaks %s to the TLS port, with only an alert", async (_, bytes) => {
    const answer = await new Promise<Buffer>((resolve) => {
      const chunks: Buffer[] = [];
      const socket = connectTcp(server.port, "127.0.0.1", () => socket.write(bytes, "latin1"));
      socket.on("data", (chunk) => chunks.push(chunk)).on("error", () => {});
      socket.on("close", () => resolve(Buffer.concat(chunks)));
    });
    expect(answer.length).toBeLessThanOrEqual(7);
  });

  it("and counted, and the server continues", async () => {
    const text = await server.metrics.registry.metrics();
    const count = /gastown_connections_refused_total\{reason="handshake"\} (\d+)/.exec(text)?.[1];
    expect(Number(count)).toBeGreaterThan(5);
    expect(await refusalOf(town.issue(CLIENT))).toBe("no refusal");
  });
});

describe("a page on another origin", () => {
  it("is refused although its browser presents a caller's certificate", async () => {
    const { cert, key } = town.issue(CLIENT);
    const ask = (headers: Record<string, string>) =>
      new Promise<[number | undefined, string]>((resolve, reject) => {
        const options = { method: "POST", cert, key, ca: town.pem, agent: false as const };
        const url = `${server.url}/gastown.v1.SidecarService/Peek`;
        const req = httpsRequest(url, { ...options, headers: { "content-type": "application/json", ...headers } });
        req.on("error", reject).on("response", async (res) => resolve([res.statusCode, String(await res.toArray())]));
        req.end('{"lines": 1}');
      });
    const [status, text] = await ask({ origin: "https://evil.example" });
    expect([status, text]).toEqual([403, expect.stringContaining("origin")]);
    expect(text).not.toMatch(LEAKS);
    expect((await ask({}))[0]).toBe(200);
  });
});

describe("openssl, as a hostile caller,", () => {
  const files = async () => {
    const { cert, key } = town.issue(CLIENT);
    const path = (name: string) => join(dir, name);
    await Promise.all([
      writeFile(path("c.crt"), cert),
      writeFile(path("c.key"), key),
      writeFile(path("ca.crt"), town.pem),
    ]);
    return ["-cert", path("c.crt"), "-key", path("c.key"), "-CAfile", path("ca.crt")];
  };
  const client = async (program: string, input: string, ...args: string[]) => {
    const all = ["s_client", "-connect", `127.0.0.1:${server.port}`, "-alpn", "http/1.1", ...(await files()), ...args];
    const child = spawn(program, all, { stdio: ["pipe", "pipe", "pipe"] });
    const text: string[] = [];
    child.stdout.on("data", (chunk) => text.push(String(chunk)));
    child.stderr.on("data", (chunk) => text.push(String(chunk)));
    const done = new Promise((resolve) => child.on("close", resolve));
    child.stdin.write(input);
    const until = async (words: RegExp) => {
      for (let i = 0; i < 500 && !words.test(text.join("")) && child.exitCode === null; i++) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return text.join("");
    };
    const end = async () => {
      child.kill();
      await done;
      return text.join("");
    };
    return { until, end, write: (more: string) => child.stdin.write(more) };
  };

  it("cannot renegotiate", async (context) => {
    const openssl = await requireComponent(context, "openssl");
    const talk = await client(openssl, "", "-tls1_3");
    await talk.until(/Verify return code: 0/);
    talk.write("R\n");
    const seen = await talk.until(/wrong ssl version|no renegotiation|RENEGOTIATING[\s\S]*error/i);
    await talk.end();
    expect(seen).toMatch(/wrong ssl version|no renegotiation/i);
    expect(await refusalOf(town.issue(CLIENT))).toBe("no refusal");
  });

  it("gets no ticket that allows early data", async (context) => {
    const openssl = await requireComponent(context, "openssl");
    const session = join(dir, "session.pem");
    const first = await client(
      openssl,
      "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n",
      "-tls1_3",
      "-sess_out",
      session,
      "-ign_eof",
    );
    await first.until(/404 Not Found/);
    await first.end();
    const { stdout } = await promisify(execFile)(openssl, ["sess_id", "-in", session, "-noout", "-text"]);
    expect(stdout).toContain("TLSv1.3");
    expect(stdout).toMatch(/Max Early Data: 0/);
    await writeFile(join(dir, "early"), "GET /gastown.v1.SidecarService/Status HTTP/1.1\r\nhost: x\r\n\r\n");
    const second = await client(openssl, "", "-tls1_3", "-sess_in", session, "-early_data", join(dir, "early"));
    const seen = await second.until(/Early data was/);
    await second.end();
    expect(seen).toContain("Early data was not sent");
  });
});

it("a session that is resumed is refused once its certificate is revoked", async () => {
  const tls = town.issue(CLIENT);
  const files = town.issue({ ips: ["127.0.0.1"], uris: ["spiffe://town/ns/agents/session/s1"] });
  await using mounted = await MountedSecret.create({ ...files, crl: town.revoke([]) });
  await using own = await startTlsFolderServer(mounted.dir, { hostCheck: { allowHosts: [], anyHost: true } });

  const first = await statusOver(own.port, tls);
  expect(first).toMatchObject({ status: 200, isReused: false });
  expect(await statusOver(own.port, tls, first.ticket)).toMatchObject({ status: 200, isReused: true });
  await mounted.put({ ...files, crl: town.revoke([tls]) });
  await expect.poll(async () => (await statusOver(own.port, tls)).status, { timeout: 60_000 }).not.toBe(200);
  const resumed = await statusOver(own.port, tls, first.ticket);
  expect(resumed.status).not.toBe(200);
  expect(resumed.isReused ? resumed.status : 401).toBe(401);
});

/**
 * The status of a call over a new connection; 0: the connection ended without an answer. `session`: the ticket of an
 * earlier connection, with which this one resumes its TLS session.
 */
async function statusOver(port: number, tls: TlsMaterial, session?: Buffer) {
  const secure = { ...tls, ca: town.pem, ALPNProtocols: ["h2"], ...(session && { session }) };
  const socket = connectTls({ host: "127.0.0.1", port, ...secure });
  let ticket: Buffer | undefined;
  socket.on("session", (given: Buffer) => {
    ticket = given;
  });
  const client = connectHttp2(`https://127.0.0.1:${port}`, { createConnection: () => socket });
  try {
    const status = await new Promise<number>((resolve) => {
      client.on("error", () => resolve(0)).on("close", () => resolve(0));
      const headers = {
        ":method": "POST",
        ":path": "/gastown.v1.SidecarService/Peek",
        "content-type": "application/json",
      };
      const stream = client.request(headers);
      stream.on("error", () => resolve(0)).on("response", (head) => resolve(Number(head[":status"])));
      stream.resume().end("{}");
    });
    return { status, isReused: socket.isSessionReused(), ticket };
  } finally {
    client.destroy();
  }
}
