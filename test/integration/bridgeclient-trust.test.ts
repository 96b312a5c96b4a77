// The SDK and gt with clocks that differ, and with revocation lists.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { type BridgeClient, createClient } from "../../pkg/bridgeclient/client.ts";
import type { ClientOptions } from "../../pkg/bridgeclient/options.ts";
import { BridgeFolder, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { until } from "../support/sidecar/sidecar.ts";

let folder: BridgeFolder;
let bridge: RunningBridge;
let dir: string;
beforeAll(async () => {
  folder = await BridgeFolder.create();
  bridge = await folder.start();
  dir = await folder.consumerFolder(folder.prd);
  await mkdir(folder.path("home"));
});
afterAll(() => folder[Symbol.asyncDispose]());
afterEach(() => void vi.restoreAllMocks());

function newClient(mtls: Partial<ClientOptions["mtls"]> = {}, jwt: Partial<ClientOptions["jwt"]> = {}): BridgeClient {
  const path = (name: string) => join(dir, name);
  return createClient({
    target: `127.0.0.1:${bridge.port}`,
    mtls: { caCertPath: path("ca.crt"), certPath: path("tls.crt"), keyPath: path("tls.key"), ...mtls },
    jwt: { privateKeyPath: path("jwt-signing.key"), issuer: folder.prd.name, projectId: folder.prd.name, ...jwt },
    retry: { firstMs: 20, maxMs: 200 },
  });
}

/** Shifts this process's clock; the bridge's clock stays right. */
function setClock(byMs: number): void {
  const right = Date.now.bind(Date);
  vi.spyOn(Date, "now").mockImplementation(() => right() + byMs);
}

describe.each([
  ["10 minutes behind", -600_000],
  ["10 minutes ahead", 600_000],
])("on a host whose clock is %s", (name, byMs) => {
  const sessionId = name.replaceAll(" ", "-");

  it("the SDK uses the bridge's time to call, start and follow a session", async () => {
    setClock(byMs);
    await using client = newClient();
    await client.startSession({
      ...{ projectId: folder.prd.name, sessionId, provider: "demo", repoPath: folder.path("repos/one") },
    });
    await until("the session to run", 60_000, async () =>
      (await client.session(sessionId).getStatus()) === SessionStatus.RUNNING ? true : undefined,
    );
    await client.session(sessionId).stop();
    const events = await Array.fromAsync(client.session(sessionId).events());
    expect(events.at(-1)?.done).toBe(true);
  });

  it("the SDK uses the bridge's time for a stream as its first call", async () => {
    setClock(byMs);
    await using client = newClient();
    const events = await Array.fromAsync(client.session(sessionId).events());
    expect(events.at(-1)?.done).toBe(true);
  });

  it("gt uses the control plane's time to list sessions", async () => {
    const wrong = `const right = Date.now; Date.now = () => right() + ${byMs}`;
    const env = {
      ...{ PATH: process.env["PATH"] ?? "", HOME: folder.path("home"), USER: "ann" },
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(wrong)}`,
    };
    const place = ["--server", `127.0.0.1:${bridge.port}`, "--tls-dir", dir, "--jwt-key", join(dir, "jwt-signing.key")];
    const listed = await gt(["agents", ...place, "--jwt-issuer", "prd-manager", "--project", "prd-manager"], env);
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    expect(listed.stdout).toContain(sessionId);
  });
});

it("the SDK reports the difference of the clocks when it cannot retry", async () => {
  setClock(-600_000);
  await using client = newClient();
  const first = client.watchSessions().next();
  await expect(first).rejects.toThrow(/the token has expired: this machine's clock is \d+ s behind the server's/);
});

describe("the SDK with revocation lists", () => {
  it("refuses a bridge whose certificate its CA has revoked", async () => {
    const revoked = join(dir, "revoked.pem");
    await writeFile(revoked, folder.ca.revoke([{ cert: await readFile(folder.path("certs/bridge.crt"), "utf8") }]));
    await using strict = newClient({ crlPath: revoked });
    await expect(strict.listSessions()).rejects.toThrow(/revoked|not trusted/);
    const other = join(dir, "other.pem");
    await writeFile(other, folder.ca.revoke([folder.prd.tls]));
    await using trusting = newClient({ crlPath: [other] });
    expect((await trusting.listSessions()).sessions).toBeDefined();
  });

  it.each([
    ["empty", () => ""],
    ["cut off", () => folder.ca.revoke([]).slice(0, 200)],
    ["of an untrusted CA", () => folder.prd.ca.revoke([])],
  ])("rejects a list that is %s", async (_, text) => {
    const path = join(dir, "bad.pem");
    await writeFile(path, text());
    expect(() => newClient({ crlPath: path })).toThrow("bad.pem");
  });
});

it("the SDK rejects invalid numbers by name", async () => {
  await using client = newClient();
  for (const afterSeq of [-1, 1.5, -1n, Number.NaN]) {
    expect(() => client.session("s").events({ afterSeq })).toThrow("afterSeq");
  }
  for (const timeoutMs of [-1, 0, Number.NaN, Number.POSITIVE_INFINITY]) {
    await expect(client.listSessions({}, { timeoutMs })).rejects.toThrow("timeoutMs");
  }
});
