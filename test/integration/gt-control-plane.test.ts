import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mintToken, signingKeyOf } from "../../internal/auth/mint-token.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { parseFlags } from "../../internal/cli/flags.ts";
import { openBridge } from "../../internal/terminal/places/open-bridge.ts";
import { readPlace } from "../../internal/terminal/places/place-config.ts";
import { SERVER_FLAGS } from "../../internal/terminal/places/place-flags.ts";
import { BridgeScene } from "../support/bridge/bridge-scene.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { gt, gtInTerminal } from "../support/bridge/gt-transcript.ts";
import { writeTls } from "../support/bridge/secret.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { TcpRelay } from "../support/sidecar/tcp-relay.ts";

let scene: BridgeScene;
let env: Record<string, string>;
let tls: string;
let trust: string[];
beforeAll(async () => {
  scene = await BridgeScene.create();
  tls = join(scene.dir, "client");
  const home = join(scene.dir, "home");
  await mkdir(home);
  env = { PATH: process.env["PATH"] ?? "", HOME: home, USER: "ann", GT_SERVER: `127.0.0.1:${scene.server.port}` };
  trust = ["--tls-dir", tls, ...tokenFlags("p1")];
  scene.bridge.add("s1", "p1", { agent: "gastown/polecats/toast" });
  scene.bridge.add("plain", "p1", { agentOpts: { mode: "stdio" }, repoPath: "/repos/plain" });
  scene.bridge.add("theirs", "p2", { agent: "gastown/polecats/nux" });
});
afterAll(() => scene[Symbol.asyncDispose]());

const tokenFlags = (project: string) => [
  ...["--jwt-key", scene.files.privateKeyPath, "--jwt-issuer", "prd-manager", "--project", project],
];
const run = (...args: string[]) => gt([...args, ...trust], env);
const errorOf = async (args: string[], more: Record<string, string> = {}) => {
  const { code, stderr, stdout } = await gt(args, { ...env, ...more });
  expect(stdout).toBe("");
  return { code, lines: stderr.trimEnd().split("\n") };
};

describe("gt with a control plane", () => {
  it.each([["s1"], ["gastown/polecats/toast"], ["toast"]])("finds an agent by %s", async (agent) => {
    expect(await run("peek", agent, "2")).toEqual({ code: 0, stdout: "the last line\nthe last line\n", stderr: "" });
  });

  it("lists the running agents of its own project when there is no such agent", async () => {
    const { code, stderr } = await run("peek", "nux");
    expect(code).toBe(3);
    expect(stderr).toContain('no session or agent "nux"; running there: gastown/polecats/toast (session s1), plain\n');
  });

  it.each([["new"], ["gastown/polecats/new"]])(
    "does not report %s as missing when the list may be stale",
    async (agent) => {
      scene.bridge.failures.set("getSession", [
        new DomainError("unavailable", "the API server does not answer: try again"),
      ]);
      const { code, stderr } = await run("status", agent);
      expect(stderr).toContain("the API server does not answer: try again");
      expect(code).toBe(4);
    },
  );

  it("notes that an incomplete list may lack sessions, and does not call it empty", async () => {
    scene.bridge.incomplete = "the API server does not answer";
    const stderr = expect.stringMatching(/there may be more sessions at \S+: the API server does not answer\n$/);
    const empty = ["--tls-dir", tls, ...tokenFlags("p3")];
    for (const command of ["agents", "status"]) {
      expect(await run(command)).toMatchObject({ code: 0, stdout: expect.stringContaining("plain"), stderr });
      expect(await gt([command, ...empty], env)).toMatchObject({ code: 4, stdout: "", stderr });
    }
    scene.bridge.incomplete = "";
    expect(await gt(["agents", ...empty], env)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("no session"),
    });
  });

  it("delivers a message once, and prints its receipt", async () => {
    const sent = await run("nudge", "toast", "hello", "--request-id", "n1");
    expect(sent).toMatchObject({ code: 0, stderr: "" });
    expect(sent.stdout).toContain("submitted to gastown/polecats/toast");
    const receipt = await run("receipt", "toast", "n1", "--json");
    expect(JSON.parse(receipt.stdout)).toMatchObject({ request_id: "n1", outcome: "submitted" });
    expect((await run("cancel", "toast", "n1")).stdout + (await run("cancel", "toast", "n1")).stderr).toContain("n1");
  });

  it("sends a message as input to a session without a terminal, and shows the session from its events", async () => {
    scene.bridge.noTerminal.add("plain");
    expect(await run("nudge", "plain", "hello")).toMatchObject({ code: 0, stderr: "" });
    const status = await run("status", "plain", "--json");
    expect(JSON.parse(status.stdout)).toMatchObject({ session_id: "plain", alive: true, state: "uncertain" });
    expect(await run("peek", "plain")).toMatchObject({ code: 0, stdout: expect.stringContaining("hello") });
  });

  it("presses keys, watches, and waits", async () => {
    expect(await run("keys", "toast", "Escape")).toMatchObject({ code: 0 });
    expect(scene.bridge.keysOf("s1")).toEqual(["Escape"]);
    expect((await run("watch", "toast", "--json")).stdout).toContain('"kind":"snapshot"');
    expect(await run("wait", "toast", "--for", "idle", "--timeout", "5s")).toMatchObject({ code: 0 });
  });

  it("starts a session, lists it and stops it", async () => {
    const started = await run("start", "demo", "/repos/one", "--session", "new", "-o", "model=small");
    expect(started).toMatchObject({ code: 0, stderr: "" });
    expect(started.stdout).toBe(`✓ session new: demo in /repos/one at ${env["GT_SERVER"]}, running\n`);
    expect((await run("agents")).stdout).toMatch(/^new +- +demo +running +\/repos\/one$/m);
    expect(JSON.parse((await run("agents", "--json")).stdout)).toContainEqual(
      expect.objectContaining({ session_id: "new", agent_opts: { model: "small" }, status: "running" }),
    );
    expect(await run("stop", "new")).toEqual({ code: 0, stdout: "✓ stopped new\n", stderr: "" });
    expect((await run("stop", "new")).stdout).toBe("✓ new had already ended\n");
    expect((await run("status")).stdout).not.toContain("new");
  });

  it("prints a new session's id for scripts, or an error if it cannot start one", async () => {
    expect((await run("start", "demo", "/repos/two", "-q")).stdout).toMatch(/^[0-9a-f-]{36}\n$/);
    expect(await run("start", "missing", "/repos/two")).toMatchObject({
      code: 6,
      stderr: 'gt: error: the provider "missing" is not available\n',
    });
  });

  it("shows an overview, and each change until the session is gone", async () => {
    const overview = await run("status");
    expect(overview.stdout).toMatch(/^AGENT +STATE/);
    expect(overview.stdout).toMatch(/^gastown\/polecats\/toast +idle/m);
    scene.bridge.add("ends", "p1");
    const following = run("status", "ends", "--follow", "--json");
    await scene.bridge.watched();
    scene.bridge.remove("ends");
    const lines = (await following).stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([
      { session_id: "ends", status: "running", state: "idle", watch_seq: expect.any(String) },
      { session_id: "ends", gone: true },
    ]);
  });

  it("follows sessions across a connection that is cut", async () => {
    scene.bridge.add("stays", "p1");
    await using relay = await TcpRelay.to(scene.server.port);
    const through = { ...env, GT_SERVER: `127.0.0.1:${relay.port}` };
    await using following = gtInTerminal(["status", "stays", "--follow", ...trust], through, 200);
    const shown = (text: string) => eventually(text, () => following.seen().includes(text), 60_000);
    await shown("stays demo: running");
    relay.cut();
    await shown("the connection was lost, reconnecting");
    const again = () => /reconnected after.*stays demo: running/s.test(following.seen());
    await eventually("its state is shown again", again, 60_000);
    scene.bridge.remove("stays");
    await shown("stays demo: gone");
    expect(await following.exited).toBe(0);
  });

  it("uses the token in GT_TOKEN", async () => {
    const key = signingKeyOf(await readFile(scene.files.privateKeyPath, "utf8"), "key");
    const claims = { issuer: "prd-manager", subject: "ci", project: "p1", audience: "bridge", ttlMs: 60_000 };
    const given = { ...env, GT_TOKEN: mintToken(key, claims, Date.now()) };
    expect(await gt(["peek", "toast", "1", "--tls-dir", tls], given)).toMatchObject({ code: 0 });
    const old = { GT_TOKEN: mintToken(key, claims, Date.now() - 3_600_000) };
    const { code, lines } = await errorOf(["peek", "toast", "--tls-dir", tls], old);
    expect(code).toBe(4);
    expect(lines).toEqual([
      "gt: error: the token has expired",
      expect.stringContaining(
        "gt: hint: the token in GT_TOKEN has expired by the server's clock: gt token prints a new one",
      ),
    ]);
  });
});

it("presents each new token over an open connection, so that followers survive the first token's expiry", async () => {
  const flags = parseFlags(SERVER_FLAGS, trust, env).values;
  const clock = new FakeClock(Date.now());
  using bridge = await openBridge(readPlace(flags, env), clock);
  const stop = new AbortController();
  const updates = bridge.stream(stop.signal, (client, options) => client.watchSessions({}, options));
  await updates.next();
  const shown = () => scene.bridge.calls.filter((name) => name === "health").length;
  const before = shown();
  await clock.advance(30_000);
  await eventually("the token is shown", () => shown() === before + 1);
  await eventually("the next wait has begun", () => clock.sleeping > 0);
  await clock.advance(30_000);
  await eventually("it is shown again", () => shown() === before + 2);
  expect(bridge.project).toBe("p1");
  await updates.return();
});

describe("gt has an error and a hint for each failure of trust:", () => {
  it("no control plane", async () => {
    const { code, lines } = await errorOf(["start", "demo"], { GT_SERVER: "" });
    expect([code, lines[0]]).toEqual([2, "gt: error: which control plane?"]);
  });

  it("no certificate", async () => {
    const { code, lines } = await errorOf(["peek", "toast", ...tokenFlags("p1")]);
    expect([code, lines[0]]).toEqual([4, `gt: error: ${env["GT_SERVER"]} requires a certificate`]);
    expect(lines[1]).toContain("--tls-dir");
  });

  it("no token", async () => {
    const { code, lines } = await errorOf(["peek", "toast", "--tls-dir", tls]);
    expect([code, lines[0]]).toEqual([4, `gt: error: ${env["GT_SERVER"]} requires a token`]);
    expect(lines[1]).toContain("--jwt-key");
  });

  it("a server of an unknown CA", async () => {
    const ca = join(scene.dir, "stranger.crt");
    await writeFile(ca, new TestCa("stranger").pem);
    const { code, lines } = await errorOf(["peek", "toast", ...trust, "--ca", ca]);
    expect(code).toBe(4);
    expect(lines[0]).toContain("is not trusted: its certificate does not lead to your CA");
    expect(lines[1]).toContain("cross-sign");
  });

  it("a server with another name", async () => {
    await using relay = await TcpRelay.to(scene.server.port, "127.0.0.2");
    const { code, lines } = await errorOf(["agents", ...trust], { GT_SERVER: `127.0.0.2:${relay.port}` });
    expect(code).toBe(4);
    expect(lines[0]).toContain("IP: 127.0.0.2 is not in the cert's list");
    expect(lines[1]).toContain("127.0.0.2:");
  });

  it.each<[string, number | undefined, RegExp, RegExp]>([
    [
      "a certificate of an unknown CA",
      undefined,
      /(does|may) not accept your certificate|not from a CA/,
      /bridge-ca verify/,
    ],
    ["a certificate that has expired", -0.5, /your certificate expired at/, /bridge-ca renew/],
  ])("%s", async (_what, days, message, hint) => {
    const dir = join(scene.dir, `own-${days}`);
    const issuer = days === undefined ? new TestCa("stranger") : scene.consumerCa;
    const files = issuer.issue({ uris: ["spiffe://prd-manager/client/app"], days });
    await writeTls(dir, { ...files, ca: scene.bridgeCa.pem });
    const { code, lines } = await errorOf(["agents", "--tls-dir", dir, ...tokenFlags("p1")]);
    expect(code).toBe(4);
    expect(lines[0]).toMatch(message);
    expect(lines[1]).toMatch(hint);
  });

  it.each<[string, string[], RegExp, RegExp]>([
    ["an unknown issuer", ["--jwt-issuer", "nobody"], /issuer/, /--jwt-issuer is the name/],
    [
      "a token for another audience",
      ["--jwt-audience", "other"],
      /for somebody else|audience|not for/,
      /--jwt-audience/,
    ],
  ])("%s", async (_what, flags, message, hint) => {
    const { code, lines } = await errorOf(["agents", ...trust, ...flags]);
    expect(code).toBe(4);
    expect(lines[0]).toMatch(message);
    expect(lines[1]).toMatch(hint);
  });

  it("another project's session", async () => {
    const { code, lines } = await errorOf(["peek", "theirs", ...trust]);
    expect([code, lines[0]]).toEqual([3, expect.stringContaining('no session or agent "theirs"')]);
    expect(lines[1]).toContain("--project sets the project of the token");
  });

  it("a server that speaks plaintext", async () => {
    const plain = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
    const { port } = plain.address() as { port: number };
    const { code, lines } = await errorOf(["agents", ...trust], { GT_SERVER: `127.0.0.1:${port}` });
    plain.close();
    expect([code, lines[0]]).toEqual([
      4,
      `gt: error: 127.0.0.1:${port} does not speak TLS, and gt reaches a control plane only over TLS`,
    ]);
  });

  it("no listener", async () => {
    const { code, lines } = await errorOf(["agents", ...trust], { GT_SERVER: "127.0.0.1:1" });
    expect(code).toBe(4);
    expect(lines[0]).toContain("ECONNREFUSED");
  });
});

describe("gt config", () => {
  it("keeps the access to a control plane in a file for its owner only", async () => {
    const own = { ...env, HOME: join(scene.dir, "home-2"), GT_SERVER: "" };
    await mkdir(own.HOME);
    expect(await gt(["config", "show"], own)).toMatchObject({ code: 0, stdout: "" });
    const set = (key: string, value: string) => gt(["config", "set", key, value], own);
    expect(await set("server", env["GT_SERVER"] ?? "")).toEqual({ code: 0, stdout: "", stderr: "" });
    await set("tls-dir", tls);
    await set("jwt-key", scene.files.privateKeyPath);
    await set("jwt-issuer", "prd-manager");
    await set("project", "p1");
    const path = (await gt(["config", "path"], own)).stdout.trim();
    expect(path).toBe(join(own.HOME, ".config/gt/config.json"));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await gt(["config", "show"], own)).stdout).toMatch(/^default \(current\)\n {2}server +127.0.0.1:/);
    expect(await gt(["peek", "toast", "1"], own)).toEqual({ code: 0, stdout: "the last line\n", stderr: "" });
  });

  it("has named profiles, and rejects unknown keys", async () => {
    const own = { ...env, HOME: join(scene.dir, "home-3"), GT_SERVER: "" };
    await mkdir(own.HOME);
    const config = (...words: string[]) => gt(["config", ...words], own);
    await config("set", "server", "one");
    await config("set", "server", "two:1", "--profile", "other");
    expect(await config("use", "other")).toMatchObject({ code: 0 });
    expect(JSON.parse((await config("show", "--json")).stdout)).toMatchObject({
      current: "other",
      profiles: { default: { server: "one:9445" }, other: { server: "two:1" } },
    });
    await config("unset", "server", "--profile", "default");
    expect(JSON.parse((await config("show", "--json")).stdout).profiles.default).toEqual({});
    expect(await config("set", "tls-dir", "/nowhere")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("tls-dir: there is no folder /nowhere"),
    });
    expect((await config("set", "ca", own.HOME)).stderr).toContain(`ca: ${own.HOME} is not a file`);
    expect((await config("set", "servr", "x")).stderr).toContain('no key "servr"\ngt: hint: did you mean server?');
    expect((await config("use", "third")).stderr).toContain('no profile "third"; there are: default, other');
    expect((await gt(["agents", "--profile", "third"], own)).code).toBe(2);
    await writeFile(join(own.HOME, ".config/gt/config.json"), '{"profiles":{"a":{"token":"x"}}}');
    expect(await config("show")).toMatchObject({ code: 2, stderr: expect.stringContaining("unknown key token") });
  });
});
