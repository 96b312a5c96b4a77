// Tests callers that are stopped as whole processes, as by a laptop's sleep or a debugger, for longer than a server
// waits for an answer to its PING. When they continue, all connections are closed and all their own timers due.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { BridgeFolder, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { programFile } from "../support/programs.ts";
import { until } from "../support/sidecar/sidecar.ts";

/**
 * The bridge cuts a connection that does not answer its PING: it sends one after 30 s, and waits 15 s for the answer.
 */
const FROZEN_MS = 50_000;
const WAIT_MS = 120_000;
const reader = fileURLToPath(new URL("../support/bridge/sdk-reader-main.ts", import.meta.url));

let folder: BridgeFolder;
let bridge: RunningBridge;
let dir: string;
const callers: Caller[] = [];
beforeAll(async () => {
  folder = await BridgeFolder.create();
  bridge = await folder.start();
  dir = await folder.consumerFolder(folder.prd);
  await mkdir(folder.path("home"));
});
afterAll(async () => {
  for (const { child } of callers) child.kill("SIGKILL");
  await Promise.all(callers.map(({ ended }) => ended));
  await folder[Symbol.asyncDispose]();
});

interface Caller {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  readonly lines: () => readonly string[];
  readonly notes: () => string;
}

function caller(...args: readonly string[]): Caller {
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder.path("home"), USER: "ann" };
  const child = spawn(process.execPath, args, { env, cwd: env.HOME, stdio: ["ignore", "pipe", "pipe"] });
  let [shown, notes] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    notes += text;
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const one = { child, ended, lines: () => shown.split("\n").slice(0, -1), notes: () => notes };
  callers.push(one);
  return one;
}

function gtCaller(...args: readonly string[]): Caller {
  const place = ["--server", `127.0.0.1:${bridge.port}`, "--tls-dir", dir, "--jwt-key", join(dir, "jwt-signing.key")];
  const who = ["--jwt-issuer", folder.prd.name, "--project", folder.prd.name];
  return caller(programFile("gt"), ...args, ...place, ...who);
}

async function sdkCaller(sessionId: string): Promise<Caller> {
  const path = (name: string) => join(dir, name);
  const options = {
    target: `127.0.0.1:${bridge.port}`,
    mtls: { caCertPath: path("ca.crt"), certPath: path("tls.crt"), keyPath: path("tls.key") },
    jwt: { privateKeyPath: path("jwt-signing.key"), issuer: folder.prd.name, projectId: folder.prd.name },
    retry: { firstMs: 100, maxMs: 1000 },
    keepalive: { pingIntervalMs: 1000, pingTimeoutMs: 2000 },
  };
  const file = folder.path("sdk.json");
  await writeFile(file, JSON.stringify(options));
  return caller(reader, file, sessionId);
}

/** The number of decisions about calls in the bridge's log. */
const calls = () =>
  bridge
    .log()
    .split("\n")
    .filter((line) => line.includes('"audit":true')).length;
const seqOf = (line: string) => (JSON.parse(line) as { readonly seq?: number }).seq;

it("gt and the SDK continue after a freeze, report any loss, and do not flood the bridge with calls", {
  timeout: 400_000,
}, async () => {
  const client = folder.client(bridge, folder.prd);
  const repoPath = folder.path("repos/one");
  for (const sessionId of ["s", "other"])
    await client.startSession({ projectId: folder.prd.name, sessionId, provider: "demo", repoPath });
  const send = (text: string) => client.sendInput({ sessionId: "s", text });
  await send("before");

  const sdk = await sdkCaller("s");
  const watch = gtCaller("watch", "s", "--json");
  const follow = gtCaller("status", "--follow", "--json");
  const sees = (one: Caller, text: string) =>
    until(`${text} to be seen`, WAIT_MS, () => one.lines().some((line) => line.includes(text)) || undefined, one.notes);
  await Promise.all([sees(sdk, "before"), sees(watch, "before"), sees(follow, '"other"')]);

  for (const { child } of [sdk, watch, follow]) child.kill("SIGSTOP");
  const [before, begun] = [calls(), performance.now()];
  let sent = 0;
  for (; performance.now() - begun < FROZEN_MS; sent++) {
    await send(`during ${sent}`);
    await new Promise((resolve) => setTimeout(resolve, 5_000));
  }
  await client.stopSession({ sessionId: "other" });
  for (const { child } of [sdk, watch, follow]) child.kill("SIGCONT");
  await send("afterwards");
  const ended = '"status":"stopped"';
  await Promise.all([sees(sdk, "afterwards"), sees(watch, "afterwards"), sees(follow, ended)]);

  for (const one of [sdk, watch, follow]) expect([one.child.exitCode, one.child.signalCode]).toEqual([null, null]);
  const events = sdk.lines();
  expect(events.join("\n")).not.toContain('"gap"');
  expect(events.map(seqOf)).toEqual(events.map((_, i) => i + 1));
  for (let i = 0; i < sent; i++)
    expect(events.filter((line) => line.includes(`during ${i}`)).length).toBeGreaterThan(0);
  // Their calls besides the inputs of the test itself: each opens its stream again a few times at most.
  expect(calls() - before - 2 * sent).toBeLessThan(60);
});
