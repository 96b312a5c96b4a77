import { hash, X509Certificate } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { McpPipe } from "../../internal/threads/client/mcp-pipe.ts";
import { ThreadsClient } from "../../internal/threads/client/threads-client.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { MountedSecret } from "../support/bridge/secret.ts";
import { eventually } from "../support/eventually.ts";
import { runProgramOf } from "../support/threads/run-threads.ts";
import { TokenRoom } from "../support/threads/token-room.ts";

const LONG = AbortSignal.timeout(900_000);
const WAIT_MS = 60_000;

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

const ca = new TestCa("town");
const own = ca.issue({ ips: ["127.0.0.1"] });
let secret: MountedSecret;
let room: TokenRoom;
beforeAll(async () => {
  secret = await MountedSecret.create({ ...own, crl: ca.revoke([]) });
  room = await TokenRoom.start("", "--tls-dir", secret.dir);
});
afterAll(async () => {
  await room?.[Symbol.asyncDispose]();
  await secret?.[Symbol.asyncDispose]();
});

interface Own {
  readonly cert: string;
  readonly key: string;
}

/** The status of an MCP call with this token, over a connection with this certificate. */
function ask(token: string | undefined, client?: Own): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  const headers = {
    ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const tls = { ca: ca.pem, agent: false, ...(client && { cert: client.cert, key: client.key }) };
  const req = request(`${room.server.url}/v1/mcp`, { method: "POST", headers, ...tls }, (res) => {
    res.resume().once("end", () => resolve(res.statusCode ?? 0));
  });
  req.on("error", reject).end(body);
  return promise;
}

const boundTo = ({ cert }: Own) =>
  room.token({ cnf: { "x5t#S256": hash("sha256", new X509Certificate(cert).raw, "base64url") } });
const newClient = () => ca.issue({ uris: ["spiffe://town.example/client/fixer"] });

describe("threads over TLS", () => {
  it.each([
    ["TLSv1.3", "TLSv1.3"],
    ["TLSv1.2", "refused"],
  ] as const)("%s: %s", async (version, expected) => {
    const port = Number(new URL(room.server.url).port);
    const { promise, resolve } = Promise.withResolvers<string>();
    const limits = { minVersion: version, maxVersion: version };
    const socket = connect({ host: "127.0.0.1", port, ca: ca.pem, ...limits }, () =>
      resolve(socket.getProtocol() ?? ""),
    );
    socket.on("error", () => resolve("refused"));
    expect(await promise).toBe(expected);
    socket.destroy();
  });

  it("answers a caller without a certificate by its token, by MCP and RPC", async () => {
    expect([await ask(room.token()), await ask(undefined), await ask("abc")]).toEqual([200, 401, 401]);
    using client = new ThreadsClient({ url: room.server.url, tls: { ca: ca.pem }, token: () => room.token() });
    expect(await client.call("whoami", {}, LONG)).toMatchObject({ agent_id: "town/fixer", workspace_id: "w" });
    using stranger = new ThreadsClient({
      url: room.server.url,
      tls: { ca: new TestCa("other").pem },
      token: () => room.token(),
    });
    await expect(stranger.call("whoami", {}, LONG)).rejects.toThrow("not trusted");
  });

  it("accepts no certificate in place of a token, and a bound token only with its certificate", async () => {
    const [client, other] = [newClient(), newClient()];
    expect(await ask(undefined, client)).toBe(401);
    expect(await ask(room.token(), client)).toBe(200);
    const bound = boundTo(client);
    expect(await ask(bound, client)).toBe(200);
    expect([await ask(bound, other), await ask(bound)]).toEqual([401, 401]);
    const record = room.audited.findLast((one) => one["serial"] === new X509Certificate(other.cert).serialNumber);
    expect(record?.reason).toContain("another certificate");
  });

  it("refuses a certificate of another CA and a revoked one, whatever the token, and records it", async () => {
    const reasons = () => room.audited.filter(({ event }) => event === "connection").map(({ reason }) => reason);
    const stranger = new TestCa("other").issue({ uris: ["spiffe://town.example/client/x"] });
    await expect(ask(room.token(), stranger)).rejects.toThrow();
    await eventually("it is recorded", () => reasons().includes("UNABLE_TO_VERIFY_LEAF_SIGNATURE"), WAIT_MS);
    const gone = newClient();
    expect(await ask(boundTo(gone), gone)).toBe(200);
    await secret.put({ ...own, crl: ca.revoke([gone]) });
    const isRefused = async () => (await ask(boundTo(gone), gone).catch(() => 0)) !== 200;
    await eventually("the list counts", isRefused, WAIT_MS);
    expect(await ask(room.token())).toBe(200);
  });

  it("is called by gt, which uses the CA of this machine's server or a flag's", async () => {
    const file = join(room.dir, "fixer.token");
    const caFile = join(room.dir, "town.crt");
    await writeFile(file, room.token(), { mode: 0o600 });
    await writeFile(caFile, ca.pem);
    const env = { ...room.server.env, GT_THREADS_TOKEN_FILE: file };
    const ls = async (more: Readonly<Record<string, string>>, ...flags: string[]) =>
      (await gt(["threads", "ls", ...flags], { ...env, ...more })).code;
    expect(await ls({})).toBe(0);
    const away = { GT_THREADS: room.server.url, GT_THREADS_STATE_DIR: room.dir, HOME: room.dir };
    expect(await ls(away)).toBe(4);
    expect(await ls({ ...away, GT_THREADS_CA: caFile })).toBe(0);
    expect(await ls(away, "--ca", caFile)).toBe(0);
    expect(await ls({ ...away, GT_THREADS_CA: join(room.dir, "threads.yaml") })).toBe(2);
    const shown = await gt(["threads", "connect", "codex", "--ca", caFile], { ...env, ...away });
    expect(shown.stdout).toContain(`GT_THREADS_CA = "${caFile}"`);
  });

  it("is called by gt with its own certificate and a token bound to it", async () => {
    const [file, certFile, keyFile] = ["bound.token", "bound.crt", "bound.key"].map((name) => join(room.dir, name));
    const client = newClient();
    await writeFile(file ?? "", boundTo(client), { mode: 0o600 });
    await writeFile(certFile ?? "", client.cert);
    await writeFile(keyFile ?? "", client.key, { mode: 0o600 });
    const env = { ...room.server.env, GT_THREADS_TOKEN_FILE: file ?? "" };
    const ls = async (...flags: string[]) => (await gt(["threads", "ls", ...flags], env)).code;
    expect(await ls()).toBe(4);
    expect(await ls("--cert", certFile ?? "")).toBe(2);
    expect(await ls("--cert", certFile ?? "", "--key", certFile ?? "")).toBe(2);
    const own = ["--cert", certFile ?? "", "--key", keyFile ?? ""];
    expect(await ls(...own)).toBe(0);
    const made = await gt(["threads", "new", "by its own", "--idempotency-key", "n", ...own], env);
    expect(made).toMatchObject({ code: 0, stderr: "" });
    const post = ["threads", "post", made.stdout.trim(), "once", "--idempotency-key", "k", "--json", ...own];
    for (const duplicate of [false, true])
      expect(JSON.parse((await gt(post, env)).stdout)).toMatchObject({ seq: 1, duplicate });
  });

  it("gets no token of gt in plaintext from another machine", async () => {
    const away = await gt(["threads", "ls", "--threads", "http://threads.example:9448"], room.server.env);
    expect([away.code, away.stderr]).toEqual([2, expect.stringContaining("plaintext")]);
  });

  it("is reached over TLS by the MCP pipe", async () => {
    const lines: string[] = [];
    const pipe = new McpPipe(
      systemClock,
      () => ({ url: room.server.url, tls: { ca: ca.pem }, token: room.token() }),
      (line) => lines.push(line),
    );
    pipe.send('{"jsonrpc":"2.0","id":7,"method":"tools/list"}');
    await eventually("it is answered", () => lines.length > 0, WAIT_MS);
    await pipe.end();
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ id: 7, result: { tools: expect.any(Array) } });
  });

  it("does not start with unusable files: it exits with 4, and check names them", async () => {
    await using torn = await MountedSecret.create({ ...own, key: newClient().key });
    const ports = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"];
    const started = await runProgramOf("threads", ["serve", ...ports, "--tls-dir", torn.dir, "--state-dir", room.dir]);
    expect([started.code, started.stderr]).toEqual([4, expect.stringContaining(`cannot serve with ${torn.dir}`)]);
    const config = join(room.dir, "tls.yaml");
    await writeFile(config, `tls:\n  dir: ${torn.dir}\n`);
    const checked = await runProgramOf("threads", ["check", "--config", config]);
    expect([checked.code, checked.stderr]).toEqual([2, expect.stringContaining("tls.yaml:2")]);
    await writeFile(config, `server: { listen: 0.0.0.0:0 }\ntls: { dir: ${secret.dir}, crl_policy: require }\n`);
    expect(await runProgramOf("threads", ["check", "--config", config])).toMatchObject({ code: 0 });
  });
});
