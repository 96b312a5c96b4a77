import { readFile, writeFile } from "node:fs/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { ThreadsClient } from "../../internal/threads/client/threads-client.ts";
import { BridgeFolder, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { freePort } from "../support/bridge/free-port.ts";
import { eventually } from "../support/eventually.ts";
import { runProgramOf } from "../support/threads/run-threads.ts";
import { startThread, ThreadsServer } from "../support/threads/threads-server.ts";

const LONG = AbortSignal.timeout(900_000);
const WAIT_MS = 120_000;
const WORKSPACE = "prd-manager";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

let folder: BridgeFolder;
let configured: string;
let bridge: RunningBridge;
let config: string;
let server: ThreadsServer;
let lead: ThreadsClient;
beforeAll(async () => {
  folder = await BridgeFolder.create();
  const args = ["--turn-ms", "100", "--steps", "1", "--log", folder.path("taken")];
  const listen = `127.0.0.1:${await freePort()}`;
  configured = await folder.configure({ server: { listen }, providers: { demo: { args } } });
  const dir = await folder.consumerFolder(folder.prd);
  config = folder.path("threads.yaml");
  const runtime = { kind: "bridge", bridge_url: listen, tls_dir: dir, jwt_key: `${dir}/jwt-signing.key` };
  await writeFile(config, JSON.stringify({ runtime: { ...runtime, jwt_issuer: folder.prd.name } }));
  [bridge, server] = await Promise.all([
    folder.start(configured),
    ThreadsServer.start("--config", config, "--workspace", WORKSPACE),
  ]);
  const token = () => server.token(`${WORKSPACE}/lead`, "orchestrator", { workspace: WORKSPACE });
  lead = new ThreadsClient({ url: server.url, token });
});
afterAll(async () => {
  lead?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
});

/** Starts a session of the bridge; returns its agent's address. */
async function start(sessionId: string, mode: string, more: Record<string, string> = {}): Promise<string> {
  const request = { projectId: WORKSPACE, sessionId, provider: "demo", repoPath: folder.path("repos/one") };
  await folder.client(bridge, folder.prd).startSession({ ...request, agentOpts: { mode, ...more } });
  return `${WORKSPACE}/${more["agent"] ?? sessionId}`;
}

/** Creates a thread with an agent, and a message for it. */
async function message(agent: string): Promise<void> {
  const thread = await startThread(lead, `for ${agent}`, [agent], LONG);
  await lead.call("post_message", { thread_id: thread, text: "please look" }, LONG);
}

async function wakesOf(agent: string): Promise<readonly JsonObject[]> {
  const { wakes } = await lead.call("list_wakes", { agent_id: agent }, LONG);
  return wakes as readonly JsonObject[];
}

/** Waits until the agent's only wake is in one of these states. */
const untilWake = (agent: string, ...states: readonly string[]) =>
  eventually(
    `the wake of ${agent} is ${states}`,
    async () => {
      const [wake, ...more] = await wakesOf(agent);
      return more.length === 0 && states.includes(String(wake?.["state"]));
    },
    WAIT_MS,
  );

/** The texts about the agent's thread that demo agents have received. */
async function taken(agent: string): Promise<readonly string[]> {
  const text = await readFile(folder.path("taken"), "utf8");
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { text: string }).text).filter((one) => one.includes(`for ${agent}`));
}

describe.concurrent("--runtime bridge", () => {
  it.each(["terminal", "stdio"])("wakes an idle agent of a %s session once, with a receipt", async (mode) => {
    const agent = await start(`idle-${mode}`, mode);
    await message(agent);
    await untilWake(agent, "SUBMITTED", "ACKED");
    expect(await taken(agent)).toHaveLength(1);
    const { sessions } = await lead.call("list_sessions", {}, LONG);
    expect((sessions as readonly JsonObject[]).find((one) => one["agent_id"] === agent)).toMatchObject({
      ...{ session_id: `idle-${mode}`, runtime: "bridge", managed: true, provider: "demo" },
    });
  });

  it("is checked by doctor, which names an unreachable bridge", async () => {
    const env = { ...server.env };
    const doctor = (file: string) => runProgramOf("threads", ["doctor", "--config", file], env);
    expect((await doctor(config)).stdout).toContain("ok    runtime bridge: 127.0.0.1:");
    const other = folder.path("threads-away.yaml");
    const { runtime } = JSON.parse(await readFile(config, "utf8"));
    await writeFile(other, JSON.stringify({ runtime: { ...runtime, bridge_url: "127.0.0.1:1" } }));
    const away = await doctor(other);
    expect([away.code, away.stdout]).toEqual([4, expect.stringContaining("FAIL  runtime bridge: 127.0.0.1:1")]);
  });
});

it("F8: an agent whose session has ended continues its conversation in another one, under its own name", async () => {
  const agent = await start("first", "terminal", { agent: "phoenix" });
  await message(agent);
  await untilWake(agent, "SUBMITTED", "ACKED");
  const client = folder.client(bridge, folder.prd);
  const { agentSessionId } = await client.getSession({ sessionId: "first" });
  expect(agentSessionId).not.toBe("");
  await client.stopSession({ sessionId: "first", force: true });
  await message(agent);
  await eventually("the second wake is typed", async () => (await taken(agent)).length === 2, WAIT_MS);
  const all = (await client.listSessions({})).sessions.filter((one) => one.agent === agent);
  const live = all.filter(({ status }) => status === SessionStatus.RUNNING);
  expect(live).toHaveLength(1);
  expect(live[0]?.agentOpts).toEqual({ mode: "terminal", agent: "phoenix", resume: agentSessionId });
  const again = start("second", "terminal", { agent: "phoenix" });
  await expect(again).rejects.toMatchObject({ code: Code.FailedPrecondition });
  const { sessions } = await lead.call("list_sessions", {}, LONG);
  const known = (sessions as readonly JsonObject[]).filter((one) => one["agent_id"] === agent);
  expect(known.map((one) => one["state"]).toSorted()).toEqual(["ended", "live"]);
});

it("an agent is unreachable while the bridge is down, and is woken when the bridge is back", async () => {
  const agent = await start("away", "terminal");
  bridge.process.kill("SIGKILL");
  await bridge.exited;
  await message(agent);
  const isDeferred = async () => {
    const [wake] = await wakesOf(agent);
    return wake?.["state"] === "DEFERRED" && wake["blocked_by"] === "unreachable";
  };
  await eventually("its wake is deferred", isDeferred, WAIT_MS);
  bridge = await folder.start(configured);
  await untilWake(agent, "SUBMITTED", "ACKED");
  expect(await taken(agent)).toHaveLength(1);
});
