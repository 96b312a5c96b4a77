import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { programFile } from "../support/programs.ts";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { SeedAgent } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

let folder: string;
let nats: NatsServer;
let relay: RelayProcess;
let coordinator: Coordinator;
let url: string;
const dialled: ChildProcess[] = [];

beforeAll(async () => {
  nats = await NatsServer.start(await oldestNats());
  folder = await mkdtemp(join(tmpdir(), "gt-relay-acp-"));
  // Longer than a busy machine needs for an answer.
  await writeFile(join(folder, "relay.yaml"), "turns: { permission_timeout: 30m, create_timeout: 10m }\n");
  relay = await RelayProcess.start(nats.url, { args: ["--config", join(folder, "relay.yaml")] });
  coordinator = await Coordinator.connect(nats);
  url = await relay.url();
});
afterAll(async () => {
  await Promise.all(dialled.map(hangUp));
  await coordinator?.[Symbol.asyncDispose]();
  await relay?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const AGENT = fileURLToPath(new URL("../fakes/acp-agent-main.ts", import.meta.url));

/** Starts `relay dial` with the small agent. */
async function dial(session: string, server = url): Promise<ChildProcess> {
  const place = ["--server", server, "--session", session, "--role", "coding", "--agent-id", "agent_acp"];
  const args = [programFile("relay"), "dial", ...place, "--", process.execPath, AGENT];
  const child = spawn(process.execPath, args, { stdio: "ignore" });
  dialled.push(child);
  await coordinator.event(session, "agent.connected");
  return child;
}

async function hangUp(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}

const task = (id: string, text: string) => ({ id, type: "work.coding", payload: { task: text } });

describe("an ACP agent that relay dial connects", () => {
  it("gets prompts, its answers become results, and its updates of any kind become progress unchanged", async () => {
    const progress: string[] = [];
    const subscription = coordinator.nc.subscribe("sessions.acp.progress.coding", {
      callback: (_err, message) => void progress.push(message.string()),
    });
    await coordinator.nc.flush();
    await dial("acp");
    await coordinator.work("acp", task("a1", "hello"));
    const [result] = await coordinator.results("acp", 1);
    expect(result?.body).toEqual({
      ...{ id: "a1", session_id: "acp", type: "result.success" },
      payload: { text: "prompt 1: hello", stop_reason: "end_turn" },
    });
    const isThere = () => progress.find((body) => body.includes("progress.a_new_kind"));
    const body = await until("the update", 30_000, isThere, () => progress.join("\n"));
    expect(body).toContain('"payload":{"sessionUpdate":"a_new_kind","big":9007199254740993,"_meta":{"x":1}}');
    subscription.unsubscribe();
  });

  it("gets its permissions decided on the session's approvals", async () => {
    await dial("permit");
    await coordinator.work("permit", task("p1", "ask"));
    const asked = await until("the request", 60_000, async () => {
      return (await coordinator.stored("RELAY_EVENTS", "sessions.permit.approvals"))[0];
    });
    expect(asked.body).toMatchObject({
      ...{ type: "approval.requested", session_id: "permit" },
      payload: { work_id: "p1", role: "coding", tool_call: { toolCallId: "t1" } },
    });
    const approval = (asked.body["payload"] as Record<string, unknown>)["approval_id"];
    const answer = { id: "x", session_id: "permit", type: "approval.granted", payload: { approval_id: approval } };
    await coordinator.js.publish("sessions.permit.approvals", JSON.stringify(answer));
    const [result] = await coordinator.results("permit", 1);
    expect(result?.body["payload"]).toMatchObject({ text: "decided yes" });
  });

  it("is refused a permission that no one answers, and late answers are reported", async () => {
    const file = join(folder, "hasty.yaml");
    await writeFile(file, "turns: { permission_timeout: 1s, create_timeout: 10m }\n");
    await using hasty = await RelayProcess.start(nats.url, { args: ["--config", file] });
    await dial("late", await hasty.url());
    await coordinator.work("late", task("p1", "ask"));
    const [result] = await coordinator.results("late", 1);
    expect(result?.body["payload"]).toMatchObject({ text: "decided no" });
    const expired = await coordinator.event("late", "approval.expired");
    const { approval_id: approval } = expired.body["payload"] as { readonly approval_id: string };
    expect(expired.body["payload"]).toEqual({ approval_id: approval, work_id: "p1", role: "coding" });
    const answer = { id: "too late", type: "approval.granted", payload: { approval_id: approval } };
    await coordinator.js.publish("sessions.late.approvals", JSON.stringify(answer));
    const stale = await coordinator.event("late", "approval.stale");
    expect(stale.body["payload"]).toEqual({ approval_id: approval, id: "too late" });
  });

  it("that dies in mid-turn leaves the work uncertain, is started again, and is not asked again", async () => {
    await dial("dies");
    await coordinator.work("dies", task("d1", "exit"));
    const [uncertain] = await coordinator.results("dies", 1);
    expect(uncertain?.body).toMatchObject({ type: "result.failure", payload: { reason: "uncertain", code: -32001 } });
    await coordinator.event("dies", "work.uncertain");
    await coordinator.work("dies", task("d2", "after"));
    const results = await coordinator.results("dies", 2);
    expect(results[1]?.body["payload"]).toMatchObject({ text: "prompt 1: after" });
  });
});

describe("an agent that dials in by itself", () => {
  it("with ACP is initialized first, without files and terminals, and prompted in its own session", async () => {
    using agent = SeedAgent.begin(url, { session: "raw", protocols: ["acp.v1"] });
    const initialize = await agent.request(1);
    expect(initialize.value).toMatchObject({
      method: "initialize",
      params: {
        protocolVersion: 1,
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      },
    });
    agent.reply(initialize.value["id"], { protocolVersion: 1, agentCapabilities: {} });
    await coordinator.work("raw", task("r1", "x"));
    const create = await agent.request(2);
    expect(create.value).toMatchObject({ method: "session/new", params: { mcpServers: [] } });
    agent.send({ jsonrpc: "2.0", id: create.value["id"], error: { code: -32000, message: "Authentication required" } });
    const [result] = await coordinator.results("raw", 1);
    expect(result?.body).toMatchObject({
      ...{ type: "result.failure", payload: { error: "Authentication required", code: -32000 } },
    });
  });

  it.each<[string, number, object]>([
    ["answers with another version", 1, { protocolVersion: 2, capabilities: { session: {} } }],
    ["names no session", 2, { protocolVersion: 1, agentCapabilities: {} }],
  ])("that %s fails its work without a prompt", async (what, requests, initialized) => {
    const session = what.replaceAll(" ", "-");
    using agent = SeedAgent.begin(url, { session, protocols: ["acp.v1"] });
    agent.answer = ({ method }) => (method === "initialize" ? initialized : {});
    await agent.request(1);
    await coordinator.work(session, task("w1", "hello"));
    const [result] = await coordinator.results(session, 1);
    expect(result?.body["payload"]).toMatchObject({ reason: "agent_protocol", code: -32006 });
    expect(agent.requests).toHaveLength(requests);
  });

  it("with MCP is initialized, and sampled with MCP's parameters", async () => {
    using agent = SeedAgent.begin(url, { session: "mcp", protocols: ["mcp.sampling.2025-11-25"] });
    await until("the connection", 60_000, () => agent.socket.readyState === agent.socket.OPEN || undefined);
    expect(agent.socket.protocol).toBe("mcp.sampling.2025-11-25");
    agent.send({ jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: "2025-11-25" } });
    const initialized = await until("the answer", 60_000, () => agent.frames[0]);
    expect(initialized.value).toMatchObject({ id: 0, result: { protocolVersion: "2025-11-25" } });
    await coordinator.work("mcp", task("m1", "x"));
    const request = await agent.request(1);
    expect(request.value).toMatchObject({
      ...{ id: "m1", method: "sampling/createMessage" },
      params: { messages: [{ role: "user", content: { type: "text", text: "x" } }], maxTokens: 4096 },
    });
    agent.reply("m1", { role: "assistant", model: "m", content: { type: "text", text: "y" }, stopReason: "endTurn" });
    const [result] = await coordinator.results("mcp", 1);
    expect(result?.body["payload"]).toEqual({ text: "y", stop_reason: "endTurn" });
  });
});
