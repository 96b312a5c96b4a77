import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { RawEditor } from "../support/relay/raw-editor.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

const TIMES = { timeout: 300_000 };

let folder: string;
let nats: NatsServer;
let coordinator: Coordinator;
let relay: RelayProcess;
let url: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-peers-"));
  nats = await NatsServer.start(await oldestNats());
  coordinator = await Coordinator.connect(nats);
  const config = join(folder, "relay.yaml");
  const turns = { permission_timeout: "30m", create_timeout: "10m", cancel_grace: "10m" };
  await writeFile(config, JSON.stringify({ turns }));
  relay = await RelayProcess.start(nats.url, { args: ["--config", config] });
  url = await relay.url();
}, TIMES.timeout);
afterAll(async () => {
  await relay?.[Symbol.asyncDispose]();
  await coordinator?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const task = (id: string, more: object = {}) => ({ id, type: "work.coding", payload: { task: id, ...more } });

/** An ACP agent whose prompts the test answers; `prompts`: the ids of the open ones. */
function acpAgent(session: string, agentCapabilities: object = {}) {
  const agent = SeedAgent.begin(url, { session, protocols: ["acp.v1"] });
  const prompts: unknown[] = [];
  agent.answer = ({ id, method }) => {
    if (method === "initialize") return { protocolVersion: 1, agentCapabilities };
    if (method !== "session/prompt") return method === "session/new" ? { sessionId: "s-1" } : {};
    prompts.push(id);
    return undefined;
  };
  return { agent, prompts, prompt: () => until("a prompt", 60_000, () => prompts.at(-1)) };
}

const OPTIONS = [
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];

function askLeave(agent: SeedAgent): void {
  const params = { sessionId: "s-1", toolCall: { toolCallId: "t1" }, options: OPTIONS };
  agent.send({ jsonrpc: "2.0", id: "leave", method: "session/request_permission", params });
}

function decisionTo(agent: SeedAgent): Promise<unknown> {
  const find = () => agent.frames.find(({ value: { id, method } }) => id === "leave" && method === undefined);
  return until("the decision", 60_000, () => find()?.value["result"]);
}

async function approvalOf(session: string): Promise<string> {
  return await until("the request", 60_000, async () => {
    const [asked] = await coordinator.stored("RELAY_EVENTS", `sessions.${session}.approvals`);
    return (asked?.body["payload"] as { readonly approval_id?: string } | undefined)?.approval_id;
  });
}

function decide(session: string, approvalId: string, type: string, id: string): Promise<unknown> {
  const body = { id, type: `approval.${type}`, payload: { approval_id: approvalId } };
  return coordinator.js.publish(`sessions.${session}.approvals`, JSON.stringify(body));
}

describe.concurrent("known faults of other relays and agents do not occur:", () => {
  it("a permission that nobody answers holds up no other session of the agent", TIMES, async () => {
    const [first, second] = [acpAgent("waits"), acpAgent("goes")];
    using _first = first.agent;
    using _second = second.agent;
    await coordinator.work("waits", task("w1"));
    const open = await first.prompt();
    askLeave(first.agent);
    const approval = await approvalOf("waits");
    await coordinator.work("goes", task("w1"));
    second.agent.reply(await second.prompt(), { stopReason: "end_turn" });
    expect((await coordinator.results("goes", 1))[0]?.body["type"]).toBe("result.success");
    await decide("waits", approval, "granted", "a");
    expect(await decisionTo(first.agent)).toEqual({ outcome: { outcome: "selected", optionId: "yes" } });
    first.agent.reply(open, { stopReason: "end_turn" });
    expect((await coordinator.results("waits", 1))[0]?.body["type"]).toBe("result.success");
  });

  it("a permission is decided by the first answer of its own session", TIMES, async () => {
    const { agent, prompt } = acpAgent("decided");
    using _ = agent;
    await coordinator.work("decided", task("w1"));
    const open = await prompt();
    askLeave(agent);
    const approval = await approvalOf("decided");
    await decide("stranger", approval, "granted", "stranger");
    await decide("decided", approval, "rejected", "first");
    await decide("decided", approval, "granted", "second");
    expect(await decisionTo(agent)).toEqual({ outcome: { outcome: "selected", optionId: "no" } });
    const stale = await coordinator.event("decided", "approval.stale");
    expect(stale.body["payload"]).toEqual({ approval_id: approval, id: "second" });
    agent.reply(open, { stopReason: "end_turn" });
    await coordinator.results("decided", 1);
  });

  it("cancel reaches a prompt of a loaded session", TIMES, async () => {
    {
      const { agent, prompt } = acpAgent("loaded", { loadSession: true });
      using _ = agent;
      await coordinator.work("loaded", task("w1"));
      agent.reply(await prompt(), { stopReason: "end_turn" });
      await coordinator.results("loaded", 1);
    }
    await coordinator.event("loaded", "agent.disconnected");
    const { agent, prompt } = acpAgent("loaded", { loadSession: true });
    using _ = agent;
    await coordinator.work("loaded", task("w2", { continue: true }));
    const open = await prompt();
    await coordinator.control("loaded", { id: "w2", type: "cancel", payload: { by: "ann" } });
    const cancel = () => agent.requests.find(({ value }) => value["method"] === "session/cancel");
    expect((await until("session/cancel", 60_000, cancel)).value["params"]).toEqual({ sessionId: "s-1" });
    expect(agent.requests.map(({ value }) => value["method"])).toEqual([
      ...["initialize", "session/load", "session/prompt", "session/cancel"],
    ]);
    agent.reply(open, { stopReason: "cancelled" });
    expect((await coordinator.results("loaded", 2))[1]?.body).toMatchObject({ id: "w2", type: "result.cancelled" });
  });

  it("an answer whose frame is cut off does not count", TIMES, async () => {
    {
      using agent = await SeedAgent.dial(url, { session: "cut" });
      await coordinator.work("cut", task("w1"));
      await agent.request(1);
      const text = JSON.stringify({ jsonrpc: "2.0", id: "w1", result: textResult("half") });
      // A masked text frame with a mask of zeros; its second half is missing.
      const head = Buffer.from([0x81, 0x80 + text.length, 0, 0, 0, 0]);
      const { _socket: socket } = agent.socket as unknown as { readonly _socket: Socket };
      await new Promise((resolve) => socket.write(Buffer.concat([head, Buffer.from(text.slice(0, 40))]), resolve));
      socket.destroy();
    }
    const gone = await coordinator.event("cut", "agent.disconnected");
    expect(gone.body["payload"]).toMatchObject({ code: 1006 });
    using agent = await SeedAgent.dial(url, { session: "cut" });
    expect((await agent.request(1)).value["id"]).toBe("w1");
    agent.reply("w1", textResult("whole"));
    expect((await coordinator.results("cut", 1)).map(({ body }) => body["payload"])).toEqual([{ text: "whole" }]);
  });

  it("a failed prompt frees its agent for the next one, and two lanes have prompts open at once", TIMES, async () => {
    const [failing, beside] = [acpAgent("fails"), acpAgent("beside-fails")];
    using _failing = failing.agent;
    using _beside = beside.agent;
    await coordinator.work("fails", task("w1"));
    await coordinator.work("beside-fails", task("w1"));
    const [first, other] = [await failing.prompt(), await beside.prompt()]; // both are open
    failing.agent.send({ jsonrpc: "2.0", id: first, error: { code: -32603, message: "model unavailable" } });
    const [failure] = await coordinator.results("fails", 1);
    expect(failure?.body).toMatchObject({ type: "result.failure", payload: { error: "model unavailable" } });
    await coordinator.work("fails", task("w2"));
    const next = await until("the next prompt", 60_000, () => failing.prompts[1]);
    failing.agent.reply(next, { stopReason: "end_turn" });
    expect((await coordinator.results("fails", 2))[1]?.body["type"]).toBe("result.success");
    beside.agent.reply(other, { stopReason: "end_turn" });
    expect((await coordinator.results("beside-fails", 1))[0]?.body["type"]).toBe("result.success");
  });

  it("an editor sees an agent's thoughts unchanged", TIMES, async () => {
    const { agent, prompt } = acpAgent("thinks");
    using _ = agent;
    using editor = await RawEditor.open(`${url}/acp?session=thinks&role=coding`);
    const sessionId = await editor.begin();
    editor.send({ id: 1, method: "session/prompt", params: { sessionId, prompt: [{ type: "text", text: "hello" }] } });
    const open = await prompt();
    const update = { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" } };
    agent.send({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s-1", update } });
    agent.reply(open, { stopReason: "end_turn" });
    expect((await editor.response(1))["result"]).toEqual({ stopReason: "end_turn" });
    const updates = editor.values.filter(({ method }) => method === "session/update");
    expect(updates.map(({ params }) => (params as { readonly update: object }).update)).toEqual([update]);
  });

  it("an editor that does not read loses updates, which are reported, and holds up no one", TIMES, async () => {
    const { agent, prompt } = acpAgent("slow");
    using _ = agent;
    using editor = await RawEditor.open(`${url}/acp?session=slow&role=coding`);
    const sessionId = await editor.begin();
    const goOn = editor.pause();
    const text = [{ type: "text", text: "hello" }];
    editor.send({ id: 1, method: "session/prompt", params: { sessionId, prompt: text } });
    const open = await prompt();
    const update = { sessionUpdate: "a_new_kind", data: "x".repeat(20_000) };
    const frame = JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s-1", update } });
    for (let i = 0; i < 2000; i++) agent.socket.send(frame); // 40 MB
    agent.send({ jsonrpc: "2.0", id: "read", method: "fs/read_text_file" });
    await until("all of it to be read", 120_000, () => agent.frames.find(({ value }) => value["id"] === "read"));
    const other = acpAgent("beside-slow");
    using _other = other.agent;
    using reader = await RawEditor.open(`${url}/acp?session=beside-slow&role=coding`);
    const session = await reader.begin();
    reader.send({ id: 1, method: "session/prompt", params: { sessionId: session, prompt: text } });
    other.agent.reply(await other.prompt(), { stopReason: "end_turn" });
    expect((await reader.response(1))["result"]).toEqual({ stopReason: "end_turn" });
    goOn();
    // No update comes after those that were lost.
    const gap = () => editor.frames.find((each) => each.includes('"gap":{'));
    const named = await until("the gap", 60_000, gap);
    const shown = editor.frames.slice(0, editor.frames.indexOf(named)).filter((each) => each.includes("a_new_kind"));
    expect(JSON.parse(named)).toMatchObject({ params: { _meta: { relay: { gap: { first: shown.length + 1 } } } } });
    agent.reply(open, { stopReason: "end_turn" });
    expect((await editor.response(1))["result"]).toEqual({ stopReason: "end_turn" });
    expect(shown.length).toBeLessThan(2000);
  });
});
