import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NatsServer, newestNats, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess, runRelay } from "../support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

const AGENT = fileURLToPath(new URL("../fakes/acp-agent-main.ts", import.meta.url));
const KIB = 1024;
/** The limit of nats-server for a message, headers included. */
const MAX_PAYLOAD = 1024 * KIB;
const PATIENCE_MS = 300_000;

let folder: string;
let nats: NatsServer;
let relay: RelayProcess;
let coordinator: Coordinator;
let url: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-bounds-"));
  nats = await NatsServer.start(await oldestNats());
  const child = { link: "stdio", command: [process.execPath, AGENT], repo_path: folder };
  relay = await start(nats, "main.yaml", { turns: { create_timeout: "10m" }, roles: { child } });
  coordinator = await Coordinator.connect(nats);
  url = await relay.url();
});
afterAll(async () => {
  await coordinator?.[Symbol.asyncDispose]();
  await relay?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function start(server: NatsServer, name: string, config: object): Promise<RelayProcess> {
  const file = join(folder, name);
  await writeFile(file, JSON.stringify(config));
  return RelayProcess.start(server.url, { args: ["--pong-timeout", "300", "--config", file] });
}

const task = (id: string, text = `task ${id}`, role = "coding") => ({
  ...{ id, type: `work.${role}`, payload: { task: text } },
});

async function metric(of: RelayProcess, name: string): Promise<number> {
  const text = await (await of.health("/metrics")).text();
  return Number(new RegExp(`^gastown_relay_${name} (.*)$`, "m").exec(text)?.[1]);
}

/** Waits, because metrics may be a few moments old. */
async function counted(of: RelayProcess, name: string, count: number): Promise<void> {
  await until(`${name} to be ${count}`, 60_000, async () => (await metric(of, name)) === count || undefined);
}

/** An ACP agent's socket with its session open; returns the id of the request that prompts it. */
async function prompted(session: string, at = url, people = coordinator) {
  const agent = SeedAgent.begin(at, { session, protocols: ["acp.v1"] });
  const initialize = await agent.request(1);
  agent.reply(initialize.value["id"], { protocolVersion: 1, agentCapabilities: {} });
  await people.work(session, task("w1"));
  const create = await agent.request(2);
  agent.reply(create.value["id"], { sessionId: "s-1" });
  return { agent, promptId: (await agent.request(3)).value["id"] };
}

const update = (value: object) => ({
  ...{ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s-1", update: value } },
});

describe.concurrent.each([
  ["oldest", () => oldestNats()],
  ["newest", newestNats],
] as const)("an outbox that is full while the %s server is away", (_name, program) => {
  it("keeps answers, pauses reading from agents, and counts the lost events", {
    timeout: PATIENCE_MS,
  }, async (context) => {
    await using server = await NatsServer.start(await program(context));
    await using its = await start(server, `outbox-${_name}.yaml`, { nats: { outbox_bytes: "64KiB" } });
    await using people = await Coordinator.connect(server);
    const at = await its.url();
    using one = await SeedAgent.dial(at, { session: "one" });
    using two = await SeedAgent.dial(at, { session: "two" });
    using leaving = await SeedAgent.dial(at, { session: "leaving" });
    using unread = await SeedAgent.dial(at, { session: "unread" });
    for (const [session, agent] of [
      ["one", one],
      ["two", two],
    ] as const) {
      await people.work(session, task("w1"));
      await agent.request(1);
    }
    await until("an empty outbox", PATIENCE_MS, async () =>
      (await metric(its, "outbox_bytes")) === 0 ? true : undefined,
    );
    await server.kill();
    await until("/readyz to answer 503", PATIENCE_MS, async () =>
      (await its.health("/readyz")).status === 503 ? true : undefined,
    );
    const filler = "x".repeat(64 * KIB - 8 * KIB - 150); // with its envelope a little less than the bound
    one.reply("w1", textResult(filler));
    await until("the answer to be held", PATIENCE_MS, async () =>
      (await metric(its, "outbox_bytes")) > 60 * KIB ? true : undefined,
    );
    leaving.socket.terminate();
    await its.logged("agent_disconnected");
    two.reply("w1", textResult(filler));
    await its.logged("outbox_full");
    unread.send("{");
    for (let round = 0; round < 20; round++) await metric(its, "outbox_bytes");
    expect(unread.frames).toHaveLength(1);
    await server.restart();
    await people.back();
    for (const session of ["one", "two"]) {
      const [result, ...more] = await people.results(session, 1);
      expect([result?.body["payload"], more]).toEqual([{ text: filler }, []]);
    }
    expect((await until("the refusal", PATIENCE_MS, () => unread.frames[1])).value).toMatchObject({
      error: { code: -32700 },
    });
    expect((await people.event("leaving", "outbox.overflow")).body["payload"]).toEqual({ messages: 1 });
    const kinds = (await people.stored("RELAY_EVENTS", "sessions.leaving.events")).map(({ body }) => body["type"]);
    expect(kinds).toEqual(["agent.connected", "outbox.overflow"]);
    expect([one.closed, two.closed, unread.closed]).toEqual([undefined, undefined, undefined]);
  });

  it("a full lane refuses its publisher, and accepts work later", { timeout: PATIENCE_MS }, async (context) => {
    await using server = await NatsServer.start(await program(context));
    await using its = await start(server, `full-${_name}.yaml`, {});
    await using people = await Coordinator.connect(server);
    for (let i = 0; i < 1000; i += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, j) => people.work("full", task(`w${i + j}`))));
    }
    await expect(people.work("full", task("more"))).rejects.toMatchObject({ code: 10077 });
    const send = ["send", "--session", "full", "--role", "coding", "--nats-url", server.url, "one more"];
    const refused = await runRelay(send);
    expect([refused.code, refused.stderr]).toEqual([
      4,
      expect.stringContaining("maximum messages per subject exceeded"),
    ]);
    expect(await people.work("other", task("w1"))).toBeGreaterThan(0);
    using agent = SeedAgent.begin(await its.url(), { session: "full" });
    agent.answer = ({ id }) => (Number(String(id).slice(1)) < 3 ? textResult("ok") : undefined);
    await people.results("full", 3);
    await people.work("full", task("more"));
  });
});

describe.concurrent("an excess", () => {
  it("of updates while NATS hangs is dropped with a gap, and the turn continues", {
    timeout: PATIENCE_MS,
  }, async () => {
    await using server = await NatsServer.start(await oldestNats());
    await using its = await start(server, "updates.yaml", {});
    await using people = await Coordinator.connect(server);
    const seqs: number[] = [];
    people.nc.subscribe("sessions.floods.progress.coding", {
      callback: (_err, message) => void seqs.push(message.json<{ readonly seq: number }>().seq),
    });
    await people.nc.flush();
    const { agent, promptId } = await prompted("floods", await its.url(), people);
    using _ = agent;
    server.signal("SIGSTOP");
    const data = "x".repeat(100 * KIB);
    for (let i = 0; i < 200; i++) agent.send(update({ sessionUpdate: "a_new_kind", data }));
    agent.send({ jsonrpc: "2.0", id: "read", method: "fs/read_text_file" });
    const wasRead = () => agent.frames.find(({ value }) => value["id"] === "read");
    await until("all of it to be read", PATIENCE_MS, wasRead);
    server.signal("SIGCONT");
    await people.back();
    await until("room for more", PATIENCE_MS, async () => {
      agent.send(update({ sessionUpdate: "a_new_kind" }));
      await people.nc.flush();
      return seqs.some((seq) => seq > 200) || undefined;
    });
    expect(seqs.filter((seq) => seq <= 200).length).toBeLessThan(90);
    expect(seqs).toEqual([...seqs].sort((one, other) => one - other));
    await counted(its, "progress_gaps_total", 1);
    agent.reply(promptId, { stopReason: "end_turn" });
    expect((await people.results("floods", 1))[0]?.body["type"]).toBe("result.success");
  });

  it("of text from an ACP agent fails that work, not its lane", { timeout: PATIENCE_MS }, async () => {
    const { agent, promptId } = await prompted("talks");
    using _ = agent;
    const content = { type: "text", text: "x".repeat(64 * KIB) };
    for (let i = 0; i < 24; i++) agent.send(update({ sessionUpdate: "agent_message_chunk", content }));
    agent.reply(promptId, { stopReason: "end_turn" });
    const [result] = await coordinator.results("talks", 1);
    expect(result?.body).toMatchObject({ type: "result.failure", payload: { code: -32003, reason: "too_large" } });
    await coordinator.work("talks", { id: "w2", type: "work.coding", payload: { task: "next", continue: true } });
    const next = await agent.request(4);
    agent.send(update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "short" } }));
    agent.reply(next.value["id"], { stopReason: "end_turn" });
    expect((await coordinator.results("talks", 2))[1]?.body["payload"]).toMatchObject({ text: "short" });
  });

  it("in one update's size leaves a gap in the progress, and the turn continues", {
    timeout: PATIENCE_MS,
  }, async () => {
    await coordinator.work("large", task("w1", "large", "child"), { role: "child" });
    const [result] = await coordinator.results("large", 1, "child");
    expect(result?.body["payload"]).toMatchObject({ text: "prompt 1: large" });
    await counted(relay, "progress_gaps_total", 1);
  });

  it("of open permissions is refused, and the others are requested", { timeout: PATIENCE_MS }, async () => {
    const { agent, promptId } = await prompted("begs");
    using _ = agent;
    const params = { sessionId: "s-1", toolCall: { toolCallId: "t" }, options: [] };
    for (let id = 1; id <= 40; id++) agent.send({ jsonrpc: "2.0", id, method: "session/request_permission", params });
    const answered = () =>
      agent.frames.filter(({ value }) => value["result"] !== undefined).map(({ value }) => value["id"]);
    await until("eight refusals", PATIENCE_MS, () => answered().length === 8 || undefined);
    expect(answered()).toEqual([33, 34, 35, 36, 37, 38, 39, 40]);
    await until("the requests", PATIENCE_MS, async () => {
      const asked = await coordinator.stored("RELAY_EVENTS", "sessions.begs.approvals");
      return asked.length === 32 || undefined;
    });
    agent.reply(promptId, { stopReason: "end_turn" });
    await coordinator.results("begs", 1);
  });

  it("in a work's size becomes a dead letter, truncated to fit NATS", {
    timeout: PATIENCE_MS,
  }, async () => {
    using agent = await SeedAgent.dial(url, { session: "whole" });
    agent.answer = () => textResult("ok");
    const body = "x".repeat(MAX_PAYLOAD);
    await coordinator.js.publish("sessions.whole.work.coding", body);
    await coordinator.work("whole", task("next"));
    expect((await coordinator.results("whole", 1))[0]?.body["id"]).toBe("next");
    const [dead] = await coordinator.stored("RELAY_DEAD", "sessions.whole.dead.coding");
    expect([dead?.header("Relay-Reason"), dead?.header("Relay-Truncated")]).toEqual(["too_large", String(MAX_PAYLOAD)]);
    expect(dead?.text.length).toBe(MAX_PAYLOAD - 4 * KIB);
  });

  it("write timeout: an agent that does not read is paused and disconnected", {
    timeout: PATIENCE_MS,
  }, async () => {
    using agent = SeedAgent.begin(url, { session: "deaf", protocols: ["mcp.sampling.2025-11-25"] });
    await until("the connection", PATIENCE_MS, () => agent.socket.readyState === agent.socket.OPEN || undefined);
    agent.socket.pause();
    const pings = JSON.stringify({ jsonrpc: "2.0", id: "p".repeat(400 * KIB), method: "ping" });
    for (let i = 0; i < 100; i++) agent.send(pings);
    const gone = await until("the event", PATIENCE_MS, async () => {
      const events = await coordinator.stored("RELAY_EVENTS", "sessions.deaf.events");
      return events.find(({ body }) => body["type"] === "agent.disconnected");
    });
    expect(gone.body["payload"]).toMatchObject({ reason: "does not read", code: 1013 });
    expect(await relay.logged("slow_reader")).toMatchObject({ level: "warn" });
    await counted(relay, "slow_readers_total", 1);
    // 40 MiB were sent; the relay stops reading from an agent that does not read its answers.
    expect(await metric(relay, "message_bytes_total")).toBeLessThan(30 * KIB * KIB);
  });
});
