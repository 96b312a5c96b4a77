import { rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { DomainError } from "../../internal/base/errors.ts";
import { type BridgeClient, createClient } from "../../pkg/bridgeclient/client.ts";
import type { BridgeError } from "../../pkg/bridgeclient/errors.ts";
import type { ClientOptions } from "../../pkg/bridgeclient/options.ts";
import { BridgeScene } from "../support/bridge/bridge-scene.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { writeTls } from "../support/bridge/secret.ts";
import { eventually } from "../support/eventually.ts";

let scene: BridgeScene;
const clients: BridgeClient[] = [];
beforeEach(async () => {
  scene = await BridgeScene.create();
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await scene[Symbol.asyncDispose]();
});

function newClient(more: Partial<ClientOptions> = {}, port?: number): BridgeClient {
  const client = createClient(scene.options(more, port));
  clients.push(client);
  return client;
}

/** The serial numbers of the certificates with which calls were admitted. */
const serials = () =>
  new Set(scene.server.audited.flatMap((line) => (JSON.parse(line) as { serial?: string }).serial ?? []));

const START = { projectId: "p1", sessionId: "s1", repoPath: "/repos/one", provider: "demo" };
const failure = (call: Promise<unknown>): Promise<BridgeError> =>
  call.then(
    () => {
      throw new Error("the call succeeded");
    },
    (err) => err as BridgeError,
  );

it("starts a session, sends it input and stops it, as the example of the bridge's requirements does", async () => {
  const client = newClient();
  expect((await client.health()).status).toBe("serving");
  expect(await client.startSession(START)).toMatchObject({ sessionId: "s1", status: 2 });
  const session = client.session("s1");
  expect(await session.sendInput("review the code in main.go")).toMatchObject({ accepted: true, seq: 3n });
  expect(await session.get()).toMatchObject({ projectId: "p1", repoPath: "/repos/one", lastSeq: 3n });
  const texts: string[] = [];
  for await (const event of client.streamEvents({ sessionId: "s1", afterSeq: 1n })) {
    texts.push(event.text);
    if (event.text.startsWith("echo")) break;
  }
  expect(texts).toEqual(["review the code in main.go", "echo: review the code in main.go\n"]);
  expect((await session.stop()).status).toBe(5);
  expect(await session.getStatus()).toBe(5);
  expect((await client.listSessions()).sessions.map(({ sessionId }) => sessionId)).toEqual(["s1"]);
});

it("reaches the session's terminal through the same client", async () => {
  scene.bridge.add("s1", "p1", { agent: "rig/polecats/toast" });
  const session = newClient().session("s1");
  expect((await session.peek({ lines: 2 })).output).toBe("the last line\nthe last line");
  expect((await session.status()).agent).toBe("rig/polecats/toast");
  expect(await session.nudge({ message: "hello", requestId: "n1" })).toMatchObject({ delivered: true });
  expect(await session.getNudge("n1")).toMatchObject({ requestId: "n1" });
  await session.sendKeys({ keys: ["Escape"] });
  expect(scene.bridge.keysOf("s1")).toEqual(["Escape"]);
  const kinds = await Array.fromAsync(session.watchOutput(), ({ kind }) => kind);
  expect(kinds).toEqual([1, 4]);
});

it("attaches a person's terminal over one call", async () => {
  scene.bridge.add("s1", "p1");
  async function* inputs() {
    yield { sessionId: "s1", request: { input: { case: "hello" as const, value: { cols: 80, rows: 24 } } } };
    yield { request: { input: { case: "data" as const, value: Buffer.from("ls\r") } } };
  }
  const outputs = await Array.fromAsync(newClient().attach(inputs()), ({ output }) => output.case);
  expect(outputs).toEqual(["data", "end"]);
});

it("reports another project's session as one that does not exist, with code, reason and fields", async () => {
  scene.bridge.add("theirs", "p2");
  const error = await failure(newClient().getSession({ sessionId: "theirs" }));
  expect(error).toMatchObject({
    ...{ name: "BridgeError", code: "not_found", reason: "not-found", fromServer: true },
    message: 'no session "theirs"',
  });
});

it("reports how long to wait when the bridge says so", async () => {
  const limited = new DomainError("exhausted", "too many starts", { fields: { retry_after_ms: 1500 } });
  scene.bridge.failures.set("startSession", [limited]);
  const error = await failure(newClient().startSession(START));
  expect(error).toMatchObject({ code: "resource_exhausted", retryAfterMs: 1500 });
  expect(error.fields).toEqual({ retry_after_ms: "1500" });
});

it("retries a call only if that is safe", async () => {
  const { bridge } = scene;
  bridge.add("s1", "p1");
  const gone = () => new DomainError("unavailable", "the bridge is going away");
  bridge.failures.set("peek", [gone(), gone()]);
  bridge.failures.set("sendInput", [gone()]);
  bridge.failures.set("sendKeys", [gone()]);
  bridge.failures.set("respond", [gone()]);
  const session = newClient().session("s1");
  await session.peek();
  await session.sendInput("once");
  expect(await failure(session.sendKeys({ keys: ["Enter"] }))).toMatchObject({ code: "unavailable" });
  expect(await failure(session.respond({ choice: "1" }))).toMatchObject({ code: "unavailable" });
  const counts = Object.entries(Object.groupBy(bridge.calls, (name) => name)).map(([name, all]) => [name, all?.length]);
  expect(Object.fromEntries(counts)).toEqual({ peek: 3, sendInput: 2, sendKeys: 1, respond: 1 });
});

it("ends a call at its deadline, retries included, and at the caller's signal", async () => {
  scene.bridge.failures.set(
    "health",
    Array.from({ length: 100 }, () => new DomainError("unavailable", "not now")),
  );
  const client = newClient({ retry: { maxAttempts: 100, firstMs: 20, maxMs: 20 } });
  const error = await failure(client.health({}, { timeoutMs: 300 }));
  expect(["unavailable", "deadline_exceeded"]).toContain(error.code);
  const stop = new AbortController();
  const call = failure(client.health({}, { signal: stop.signal }));
  stop.abort(new Error("enough"));
  expect((await call).message).toBe("enough");
});

it("gives up connecting when nothing listens, and names the address", async () => {
  await using other = await BridgeScene.create();
  const { port } = other.server;
  await other.server[Symbol.asyncDispose]();
  const error = await failure(newClient({ retry: { maxAttempts: 2, firstMs: 1 } }, port).health());
  expect(error.code).toBe("unavailable");
  expect(error.message).toContain("ECONNREFUSED");
});

it("trusts neither a server of another CA nor one with another name", async () => {
  const { mtls } = scene.files;
  const other = join(scene.dir, "other-ca.crt");
  await writeFile(other, new TestCa("stranger").pem);
  expect(await failure(newClient({ mtls: { ...mtls, caCertPath: other } }).health())).toMatchObject({
    code: "unauthenticated",
  });
  expect(await failure(newClient({ serverName: "bridge.example.com" }).health())).toMatchObject({
    code: "unauthenticated",
    message: expect.stringContaining("bridge.example.com"),
  });
});

it("is refused with a certificate of a CA that the bridge does not know", async () => {
  const stranger = new TestCa("stranger").issue({ uris: ["spiffe://stranger/client/app"] });
  await writeTls(join(scene.dir, "client"), { ...stranger, ca: scene.bridgeCa.pem });
  const error = await failure(newClient().health());
  // The bridge closes the connection after the handshake; a close that arrives as a reset looks like any other.
  expect(["unauthenticated", "unavailable"]).toContain(error.code);
  expect(error.fromServer).toBe(false);
});

it("uses a new certificate for the next call, while a stream continues with the old one", async () => {
  scene.bridge.add("s1", "p1");
  const client = newClient();
  const events = client.session("s1").events();
  scene.bridge.emit("s1", "before");
  expect((await events.next()).value).toMatchObject({ text: "before" });
  await scene.newCertificate();
  await eventually("the new certificate is used", () => {
    client.health().catch(() => {});
    return serials().size === 2;
  });
  scene.bridge.emit("s1", "after");
  expect((await events.next()).value).toMatchObject({ text: "after" });
  await events.return();
});

it("follows files through a link whose target folder is swapped", async () => {
  const files = join(scene.dir, "client");
  const link = join(scene.dir, "certs");
  await symlink(files, link);
  const path = (name: string) => join(link, name);
  const mtls = { caCertPath: path("ca.crt"), certPath: path("tls.crt"), keyPath: path("tls.key") };
  const client = newClient({ mtls, retry: { maxAttempts: 1 } });
  await client.health();
  const stranger = new TestCa("stranger").issue({ uris: ["spiffe://stranger/client/app"] });
  const next = join(scene.dir, "next");
  await writeTls(next, { ...stranger, ca: scene.bridgeCa.pem });
  await symlink(next, join(scene.dir, "certs-new"));
  await rename(join(scene.dir, "certs-new"), link);
  let code = "";
  await eventually("the other certificate is used", () => {
    client.health().then(
      () => {},
      (err: BridgeError) => {
        code = err.code;
      },
    );
    return code === "unauthenticated";
  });
});

it("keeps the previous files while certificate and key do not match", async () => {
  const client = newClient({ retry: { maxAttempts: 1 } });
  await client.health();
  const { cert, key } = scene.consumerCa.issue({ uris: ["spiffe://prd-manager/client/app"] });
  await writeFile(scene.files.mtls.certPath, cert);
  const failed: unknown[] = [];
  const ask = () => void client.health().catch((err) => failed.push(err));
  for (let i = 0; i < 20; i++) await client.health();
  expect(serials().size).toBe(1);
  await writeFile(scene.files.mtls.keyPath, key);
  await eventually("the new pair is used", () => {
    ask();
    return serials().size === 2;
  });
  expect(failed).toEqual([]);
});

it("presents a new token before the old one expires, so that streams continue", async () => {
  scene.bridge.add("s1", "p1");
  const { jwt } = scene.options();
  const client = newClient({ jwt: { ...jwt, ttlMs: 4000 } });
  const events = client.streamEvents({ sessionId: "s1" });
  const next = events.next();
  await eventually("the stream is open", () => scene.bridge.openStreams === 1);
  const tokens = () => scene.bridge.calls.filter((name) => name === "health").length;
  await eventually("two tokens were shown", () => tokens() >= 4, 60_000);
  scene.bridge.emit("s1", "still here");
  expect((await next).value).toMatchObject({ text: "still here" });
  expect(scene.bridge.calls.filter((name) => name === "streamEvents")).toHaveLength(1);
  await events.return();
});

it("signs with a new key as soon as its file has changed", async () => {
  const client = newClient({ retry: { maxAttempts: 1 } });
  await client.health();
  await scene.newSigningKey();
  let served = 0;
  await eventually("both sides have the new key", () => {
    client.health().then(
      () => served++,
      () => {
        served = 0;
      },
    );
    return served > 20;
  });
});

it.each<[string, (options: ClientOptions) => ClientOptions, string]>([
  ["a target with a scheme of plaintext", (o) => ({ ...o, target: "http://127.0.0.1:1" }), "target is host:port"],
  ["a target without a host", (o) => ({ ...o, target: "" }), "target is host:port"],
  ["no issuer", (o) => ({ ...o, jwt: { ...o.jwt, issuer: "" } }), "jwt.issuer is missing"],
  ["a token that lives too long", (o) => ({ ...o, jwt: { ...o.jwt, ttlMs: 600_000 } }), "jwt.ttlMs is between"],
  ["a file that is not there", (o) => ({ ...o, mtls: { ...o.mtls, certPath: "/none" } }), "cannot read /none"],
  [
    "a key that is not Ed25519",
    (o) => ({ ...o, jwt: { ...o.jwt, privateKeyPath: o.mtls.keyPath } }),
    "has a key that is not Ed25519",
  ],
  [
    "a key of another certificate",
    (o) => ({ ...o, mtls: { ...o.mtls, keyPath: o.jwt.privateKeyPath } }),
    "is not the key of",
  ],
])("rejects %s", (_what, change, message) => {
  expect(() => createClient(change(scene.options()))).toThrow(message);
});

it("ends calls in progress when it is closed", async () => {
  scene.bridge.add("s1", "p1");
  const client = newClient();
  const events = client.session("s1").events({ subscriberId: "r" });
  const next = failure(events.next());
  await eventually("the stream is open", () => scene.bridge.openStreams === 1);
  await client.close();
  expect(await next).toMatchObject({ code: "canceled", message: "the client is closed" });
  expect(await failure(client.health())).toMatchObject({ code: "canceled" });
  await eventually("the bridge's stream has ended", () => scene.bridge.openStreams === 0);
});
