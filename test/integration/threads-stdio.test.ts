import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { AgentTokens } from "../../internal/auth/agent-token.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { ThreadsClient } from "../../internal/threads/client/threads-client.ts";
import { ModelServer } from "../fakes/model-server.ts";
import { agentInHome } from "../support/agents/agent-in-home.ts";
import type { AgentProgram } from "../support/agents/agents-install.ts";
import { BridgeFolder, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { freePort } from "../support/bridge/free-port.ts";
import { requireComponent } from "../support/cluster/components.ts";
import { eventually } from "../support/eventually.ts";
import { ModelLog, threadModel } from "../support/threads/thread-model.ts";
import { startThread, ThreadsServer } from "../support/threads/threads-server.ts";

const AGENTS = [
  { kind: "claude", program: "claude-2.1.330" },
  { kind: "codex", program: "codex-0.169.0" },
  { kind: "opencode", program: "opencode-1.18.33" },
] as const satisfies readonly { readonly program: AgentProgram; readonly [key: string]: unknown }[];

/** An agent program may need a minute to start and to answer while other work has the cores. */
const WAIT_MS = 240_000;
const LONG = AbortSignal.timeout(1_200_000);
const WORKSPACE = "prd-manager";
const ISSUER = "host";

vi.setConfig({ testTimeout: 900_000, hookTimeout: 600_000 });

const log = new ModelLog(
  threadModel(({ kind, text }) => (kind === "chat" ? { event_type: "answer", text: `yes: ${text}` } : undefined)),
);
const workdirs = new Map<string, string>();
let model: ModelServer;
let folder: BridgeFolder;
let server: ThreadsServer;
let bridge: RunningBridge;
let lead: ThreadsClient;

async function providers(): Promise<object> {
  const found = AGENTS.map(async ({ kind, program }) => {
    const { binary, workdir } = await agentInHome(folder.path("repos", kind), kind, program, model.url);
    workdirs.set(kind, workdir);
    return [kind, { binary, startup_timeout: "5m" }] as const;
  });
  return Object.fromEntries(await Promise.all(found));
}

beforeAll(async () => {
  model = await ModelServer.listen({ act: (request) => log.act(request) });
  folder = await BridgeFolder.create();
  const keyPath = folder.path("certs/agents.key");
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
  await writeFile(keyPath, pem, { mode: 0o600 });
  await writeFile(folder.path("certs/agents.pub"), createPublicKey(pem).export({ type: "spki", format: "pem" }));
  const listen = `127.0.0.1:${await freePort()}`;
  const dir = await folder.consumerFolder(folder.prd);
  const runtime = { kind: "bridge", bridge_url: listen, tls_dir: dir, jwt_key: `${dir}/jwt-signing.key` };
  const config = folder.path("threads.yaml");
  const auth = { jwt_public_keys: [{ issuer: ISSUER, key_path: "certs/agents.pub" }] };
  await writeFile(config, JSON.stringify({ auth, runtime: { ...runtime, jwt_issuer: folder.prd.name } }));
  server = await ThreadsServer.start("--config", config);
  const session_tokens = { key_path: "certs/agents.key", issuer: ISSUER, url: server.url };
  bridge = await folder.start({ server: { listen }, session_tokens, providers: await providers() });
  const rules = { keyPath, issuer: ISSUER, audience: "threads", role: "orchestrator", roles: [], ttlMs: 3_600_000 };
  const tokens = new AgentTokens({ clock: systemClock }, rules);
  const who = { workspace: WORKSPACE, agent: `${WORKSPACE}/lead`, session: "lead" };
  lead = new ThreadsClient({ url: server.url, token: () => tokens.mint(who) });
});
afterAll(async () => {
  lead?.[Symbol.dispose]();
  await bridge?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
  await model?.[Symbol.asyncDispose]();
});

describe.concurrent("an agent without a terminal", () => {
  it.for(AGENTS)("$program is woken through its bridge and answers with its tools", async ({ kind }, context) => {
    await requireComponent(context, kind);
    const agent = `${WORKSPACE}/the-${kind}`;
    const request = { projectId: WORKSPACE, sessionId: kind, provider: kind, repoPath: workdirs.get(kind) ?? "" };
    await folder.client(bridge, folder.prd).startSession({ ...request, agentOpts: { agent: `the-${kind}` } });
    const thread = await startThread(lead, "the shed", [agent], LONG);
    await lead.call("post_message", { thread_id: thread, text: `is it green, ${kind}?` }, LONG);
    const answers = async () => {
      const { messages } = await lead.call("read_messages", { thread_id: thread }, LONG);
      return (messages as readonly JsonObject[]).filter((one) => one["event_type"] === "answer");
    };
    await eventually(`${kind} answers`, async () => (await answers()).length > 0, WAIT_MS).catch((err: unknown) => {
      throw new Error([...log.lines, server.log, bridge.log()].join("\n"), { cause: err });
    });
    expect(await answers()).toMatchObject([{ text: `yes: is it green, ${kind}?`, sender: { agent_id: agent } }]);
  });
});
