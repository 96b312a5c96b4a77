import { afterAll, beforeAll, expect, it } from "vitest";
import { EventAgent } from "../support/relay/event-agent.ts";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";

const TIMES = { timeout: 180_000 };

let nats: NatsServer;
let coordinator: Coordinator;
let relay: RelayProcess;
let url: string;

beforeAll(async () => {
  nats = await NatsServer.start(await oldestNats());
  coordinator = await Coordinator.connect(nats);
  relay = await RelayProcess.start(nats.url);
  url = (await relay.url()).replace("ws", "http");
}, TIMES.timeout);
afterAll(async () => {
  await relay?.[Symbol.asyncDispose]();
  await coordinator?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
});

const task = (id: string, text: string) => ({ id, type: "work.coding", payload: { task: text } });

it("an agent without WebSocket does its lane's work", TIMES, async () => {
  using agent = await EventAgent.dial(url, "events");
  await coordinator.work("events", task("e1", "line one\nline two"));
  const { id, params } = await agent.request(1);
  expect([id, params]).toEqual(["e1", expect.objectContaining({ messages: [expect.anything()] })]);
  expect(JSON.stringify(params)).toContain("line one\\nline two");
  expect(agent.frames[0]).toMatchObject({ type: "connection.established", agent_id: "agent_sse" });
  expect(await agent.post({ id, result: textResult("done") })).toBe(202);
  const [result] = await coordinator.results("events", 1);
  expect(result?.body["payload"]).toEqual({ text: "done" });
});

it("an agent without WebSocket cannot send frames for others or for closed connections", TIMES, async () => {
  using agent = await EventAgent.dial(url, "posts");
  expect(await agent.post({ id: 1, method: "x" }, "none")).toBe(404);
  const elsewhere = `${url}/acp/other/coding?agent_id=agent_sse`;
  const headers = { "acp-connection-id": agent.id };
  expect((await fetch(elsewhere, { method: "POST", body: "{}", headers })).status).toBe(404);
  expect((await fetch(elsewhere, { method: "POST", body: "{}" })).status).toBe(426);
  expect((await fetch(elsewhere)).status).toBe(426);
  expect(await agent.post({ id: 7, method: "no/such" })).toBe(202);
  expect(await agent.post("no JSON")).toBe(202);
  await coordinator.work("posts", task("p1", "go on"));
  const { id } = await agent.request(1);
  const codes = agent.frames.flatMap(({ error }) => (error as { readonly code: number } | undefined)?.code ?? []);
  expect(codes).toEqual([-32601, -32700]);
  await agent.post({ id, result: textResult("done") });
  await coordinator.results("posts", 1);
});

it("an agent without WebSocket that posts too large a frame is disconnected, and its work fails", TIMES, async () => {
  using agent = await EventAgent.dial(url, "large");
  await coordinator.work("large", task("l1", "write much"));
  const { id } = await agent.request(1);
  expect(await agent.post({ id, result: textResult("x".repeat(600 * 1024)) })).toBe(413);
  expect(await agent.end()).toMatchObject({ code: 1009 });
  const [result] = await coordinator.results("large", 1);
  expect(result?.body["payload"]).toMatchObject({ reason: "too_large" });
});

it(
  "an agent without WebSocket loses its lane when its stream ends, and the next agent gets the same work",
  TIMES,
  async () => {
    const first = await EventAgent.dial(url, "gone");
    await coordinator.work("gone", task("g1", "one"));
    await first.request(1);
    first[Symbol.dispose]();
    await coordinator.event("gone", "agent.disconnected");
    using second = await EventAgent.dial(url, "gone");
    const { id } = await second.request(1);
    expect(id).toBe("g1");
    await second.post({ id, result: textResult("done") });
    expect(await coordinator.results("gone", 1)).toHaveLength(1);
  },
);

it(
  "an agent without WebSocket is notified when it is superseded, and after its turn when the relay stops",
  TIMES,
  async () => {
    await using leaving = await RelayProcess.start(nats.url);
    const at = await leaving.url();
    const first = await EventAgent.dial(at.replace("ws", "http"), "told");
    using second = await SeedAgent.dial(at, { session: "told", agent: "agent_sse" });
    expect(await first.end()).toEqual({ code: 4001, reason: "superseded" });
    second.socket.close();
    await coordinator.event("told", "agent.disconnected");
    using last = await EventAgent.dial(at.replace("ws", "http"), "last");
    await coordinator.work("last", task("l1", "one"));
    const { id } = await last.request(1);
    leaving.child.kill("SIGTERM");
    expect(await last.post({ id, result: textResult("done") })).toBe(202);
    expect(await last.end()).toMatchObject({ code: 1001 });
    expect(await leaving.exited()).toBe(0);
    await coordinator.results("last", 1);
  },
);
