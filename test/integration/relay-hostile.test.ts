import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

const PAGE = fileURLToPath(new URL("../../docs/protocols/relay.md", import.meta.url));
const PATIENCE_MS = 300_000;

let nats: NatsServer;
let relay: RelayProcess;
let coordinator: Coordinator;
let url: string;

beforeAll(async () => {
  nats = await NatsServer.start(await oldestNats());
  relay = await RelayProcess.start(nats.url, { args: ["--pong-timeout", "300"] });
  coordinator = await Coordinator.connect(nats);
  url = await relay.url();
});
afterAll(async () => {
  await coordinator?.[Symbol.asyncDispose]();
  await relay?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
});

const task = (id: string) => ({ id, type: "work.coding", payload: { task: id } });

/** An ACP agent's socket whose session has a prompt. */
async function prompted(session: string) {
  const agent = SeedAgent.begin(url, { session, protocols: ["acp.v1"] });
  const initialize = await agent.request(1);
  agent.reply(initialize.value["id"], { protocolVersion: 1, agentCapabilities: {} });
  await coordinator.work(session, task("w1"));
  const create = await agent.request(2);
  agent.reply(create.value["id"], { sessionId: "s-1" });
  return { agent, promptId: (await agent.request(3)).value["id"] };
}

/** Checks that other lanes do their work. */
async function expectProgress(session: string, count: number): Promise<void> {
  using agent = await SeedAgent.dial(url, { session });
  agent.answer = ({ id }) => textResult(`done ${String(id)}`);
  for (let i = 0; i < count; i++) await coordinator.work(session, task(`o${i}`));
  const results = await coordinator.results(session, count);
  expect(results.map(({ body }) => body["payload"])).toEqual(
    Array.from({ length: count }, (_, i) => ({ text: `done o${i}` })),
  );
}

describe("an agent", () => {
  it("that sends updates as fast as it can holds up no other lane, and its turn ends", {
    timeout: PATIENCE_MS,
  }, async () => {
    const { agent, promptId } = await prompted("endless");
    using _ = agent;
    const update = { sessionUpdate: "a_new_kind", data: "x".repeat(1000) };
    const frame = JSON.stringify({
      ...{ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s-1", update } },
    });
    for (let i = 0; i < 14_000; i++) agent.socket.send(frame);
    agent.send({ jsonrpc: "2.0", id: "read", method: "fs/read_text_file" });
    await expectProgress("beside", 10);
    const wasRead = () => agent.frames.find(({ value }) => value["id"] === "read");
    await until("all of it to be read", PATIENCE_MS, wasRead);
    agent.reply(promptId, { stopReason: "end_turn" });
    expect((await coordinator.results("endless", 1))[0]?.body["type"]).toBe("result.success");
    expect(agent.closed).toBeUndefined();
  });

  it("that pings without end and reads no pong is disconnected", async () => {
    using agent = await SeedAgent.dial(url, { session: "pings" });
    agent.socket.pause();
    const gone = async () => {
      const events = await coordinator.stored("RELAY_EVENTS", "sessions.pings.events");
      return events.find(({ body }) => body["type"] === "agent.disconnected");
    };
    for (let i = 0; i < 10_000; i++) agent.socket.ping("x".repeat(125));
    await until("the event", 60_000, gone);
  });

  it("that answers twice, for other ids, with wrong types and in batches gets errors, and one answer counts", {
    timeout: PATIENCE_MS,
  }, async () => {
    using agent = await SeedAgent.dial(url, { session: "liar" });
    await coordinator.work("liar", task("7"));
    await agent.request(1);
    const answer = (id: unknown, text: string) => ({ jsonrpc: "2.0", id, result: textResult(text) });
    agent.send(answer(7, "a number is another id"));
    agent.send(answer(null, "no id"));
    agent.send(answer("__proto__", "of no one"));
    agent.send(JSON.stringify([answer("7", "in a batch")]));
    agent.send({ id: "7", result: textResult("without jsonrpc") });
    agent.send({ jsonrpc: "2.0", id: "7", result: textResult("both"), error: { code: 1, message: "both" } });
    agent.send({ jsonrpc: "2.0", id: "7", method: "sampling/createMessage", params: {} });
    agent.send('{"jsonrpc":"2.0","id":"7","result":');
    agent.send(answer("7", "right"));
    agent.send(answer("7", "again"));
    const [result, ...more] = await coordinator.results("liar", 1);
    expect([result?.body["payload"], more]).toEqual([{ text: "right" }, []]);
    const codes = () =>
      agent.frames.flatMap(({ value }) => (value["error"] as { readonly code: number } | undefined)?.code ?? []);
    await until("five errors", PATIENCE_MS, () => codes().length >= 5 || undefined);
    expect(codes()).toEqual([-32600, -32600, -32600, -32601, -32700]);
    await expectProgress("beside-liar", 1);
    expect((await coordinator.results("liar", 1)).length).toBe(1);
  });
});

it("a text frame that is not UTF-8 closes an agent's connection with a code that the page lists", async () => {
  using agent = await SeedAgent.dial(url, { session: "no-utf8" });
  agent.socket.send(Buffer.of(0x22, 0xff, 0x22), { binary: false });
  const { code } = await until("the close", 60_000, () => agent.closed);
  expect(code).toBe(1007);
  expect(await readFile(PAGE, "utf8")).toContain(`\n| ${code} | a text frame that is not UTF-8 |\n`);
});

it("unknown fields and large integers reach the other side unchanged", async () => {
  using agent = await SeedAgent.dial(url, { session: "exact" });
  const messages = '[{"role":"user","content":"x","new_field":{"big":9007199254740993,"exact":1.10}}]';
  await coordinator.work("exact", `{"id":"e1","type":"work.coding","payload":{"messages":${messages}}}`);
  expect((await agent.request(1)).text).toContain(`"messages":${messages}`);
  const input = '{"big":18446744073709551617,"exact":1.10,"__proto__":{"x":1}}';
  const block = `{"type":"tool_use","id":"t1","name":"bash","input":${input},"new_field":1}`;
  agent.send(`{"jsonrpc":"2.0","id":"e1","result":{"role":"assistant","content":[${block}]}}`);
  expect((await coordinator.results("exact", 1))[0]?.text).toContain(`"input":${input}`);
});

it("work ids that look like headers, paths or subjects are handled as plain ids", async () => {
  using agent = await SeedAgent.dial(url, { session: "ids" });
  agent.answer = ({ id }) => textResult(String(id));
  const ids = [
    ...["a\r\nNats-Msg-Id: forged", "../../x", "sessions.other.work.coding", "*", ">", "__proto__", "constructor"],
    ...["\u0000\u202e", "x".repeat(256), "%0d%0a", "ids/coding/a/1"],
  ];
  for (const id of ids) await coordinator.work("ids", task(id));
  const results = await coordinator.results("ids", ids.length);
  expect(results.map(({ body }) => [body["id"], (body["payload"] as { readonly text: string }).text])).toEqual(
    ids.map((id) => [id, id]),
  );
  expect(new Set(results.map(({ header }) => header("Nats-Msg-Id"))).size).toBe(ids.length);
  await coordinator.work("ids", task("y".repeat(257)));
  expect((await coordinator.event("ids", "work.rejected")).body["payload"]).toMatchObject({
    reason: "invalid_message",
  });
});

/** A text frame of a client, masked with zeros; at most 125 bytes. */
function frameOf(text: string): Buffer {
  return Buffer.concat([Buffer.of(0x81, 0x80 | text.length, 0, 0, 0, 0), Buffer.from(text)]);
}

it("an editor that sends no frame while its connection is being closed does not end the relay", async () => {
  const headers = { "sec-websocket-version": "13", "sec-websocket-key": Buffer.alloc(16).toString("base64") };
  const asked = request(`${url.replace("ws:", "http:")}/acp?session=rude&role=coding`, {
    headers: { ...headers, connection: "upgrade", upgrade: "websocket" },
  });
  asked.end();
  const [, socket] = (await once(asked, "upgrade")) as [IncomingMessage, Socket];
  socket.on("error", () => {});
  let seen = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    seen = Buffer.concat([seen, chunk]);
  });
  socket.write(frameOf('{"jsonrpc":"2.0","method":"session/cancel"}')); // before `initialize`: it is closed
  await until("the close", 60_000, () => seen[0] === 0x88 || undefined);
  socket.write(Buffer.of(0x8f, 0x80, 0, 0, 0, 0)); // an opcode that does not exist
  await until("the end", 60_000, () => socket.destroyed || undefined);
  await expectProgress("after-a-rude-editor", 1);
});
