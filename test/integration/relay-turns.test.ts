import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SpanCollector } from "../support/bridge/span-collector.ts";
import { NatsServer, newestNats, oldestNats } from "../support/relay/nats-server.ts";
import { AUTH_WORK, Coordinator, WORK_TRACEPARENT } from "../support/relay/relay-bed.ts";
import { RelayProcess, runRelay } from "../support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

let nats: NatsServer;
let relay: RelayProcess;
let coordinator: Coordinator;
let url: string;

beforeAll(async () => {
  nats = await NatsServer.start(await oldestNats());
  relay = await RelayProcess.start(nats.url, { args: ["--pong-timeout", "60"] });
  coordinator = await Coordinator.connect(nats);
  url = await relay.url();
});
afterAll(async () => {
  await coordinator?.[Symbol.asyncDispose]();
  await relay?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
});

const TOOL_USE = {
  role: "assistant",
  content: [{ type: "tool_use", name: "bash", id: "tool_1", input: { command: "git checkout -b auth-feature" } }],
};

/** Returns the `traceparent` of the last result. */
async function codingWorkflow(to: Coordinator, at: string, session: string): Promise<string | undefined> {
  using agent = await SeedAgent.dial(at, { session });
  await to.work(session, AUTH_WORK);
  const first = await agent.request(1);
  expect(first.text).toBe(
    '{"jsonrpc":"2.0","id":"msg_123","method":"sampling/createMessage","params":{"messages":[{"role":"user",' +
      '"content":"Implement authentication. Requirements: use JWT; no new tables"}],"model":"claude-sonnet-4",' +
      '"max_tokens":4096,"system":"You are a coding agent."}}',
  );
  agent.reply("msg_123", TOOL_USE);
  const [use] = await to.results(session, 1);
  expect(use?.text).toBe(
    `{"id":"msg_123","session_id":"${session}","type":"tool_use","payload":{"tool_name":"bash","tool_id":"tool_1",` +
      '"input":{"command":"git checkout -b auth-feature"}}}',
  );
  await to.work(session, { id: "msg_124", type: "tool_result", payload: { tool_id: "tool_1", content: "ok" } });
  const second = (await agent.request(2)).value as { params: { messages: object[] } };
  expect(second.params.messages.slice(1)).toEqual([
    { role: "assistant", content: TOOL_USE.content },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "tool_1", content: "ok" }] },
  ]);
  agent.reply("msg_124", textResult("Implemented."));
  const done = (await to.results(session, 2))[1];
  expect(done?.body).toEqual({
    ...{ id: "msg_124", session_id: session, type: "result.success" },
    payload: { text: "Implemented." },
  });
  expect(done?.header("Nats-Msg-Id")).toBe(`${session}/coding/msg_124/1`);
  return done?.header("traceparent");
}

describe("the requirements' success criteria", () => {
  it("1: an agent connects, and its first frame names relay, session and agent", async () => {
    const headers = {
      ...{ "X-Agent-ID": "agent_abc", "X-Session-ID": "first", "X-Agent-Role": "coding", "X-ACP-Version": "1.0" },
    };
    using agent = await SeedAgent.dial(url, { session: "first", headers });
    expect(agent.frames[0]?.text).toMatch(
      /^\{"type":"connection\.established","relay_id":"relay_main","session_id":"first","agent_id":"agent_abc","timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"\}$/,
    );
    expect((await coordinator.event("first", "agent.connected")).body).toMatchObject({
      session_id: "first",
      payload: { agent_id: "agent_abc", role: "coding" },
    });
  });

  it("2, 3, 4, 9: a whole coding workflow runs, translated byte for byte in both directions", async () => {
    expect(await codingWorkflow(coordinator, url, "workflow")).toBe(WORK_TRACEPARENT);
  });

  it("5: several agents are connected at once, and each gets the work of its own session and role", async () => {
    const names = ["one", "two", "three"];
    const agents = await Promise.all(names.map((session) => SeedAgent.dial(url, { session })));
    using reviewer = await SeedAgent.dial(url, { session: "one", role: "review", agent: "agent_r" });
    reviewer.answer = () => textResult("reviewed");
    for (const agent of agents) agent.answer = ({ id }) => textResult(`done ${String(id)}`);
    await Promise.all(
      names.map((name) => coordinator.work(name, { id: `to-${name}`, type: "work.coding", payload: { task: name } })),
    );
    const review = { id: "r", type: "work.review", payload: { task: "look" } };
    await coordinator.work("one", review, { role: "review" });
    for (const name of names) {
      const results = await coordinator.results(name, 1);
      expect(results.map(({ body }) => body["payload"])).toEqual([{ text: `done to-${name}` }]);
    }
    expect((await coordinator.results("one", 1, "review"))[0]?.body["payload"]).toEqual({ text: "reviewed" });
    for (const agent of agents) agent[Symbol.dispose]();
  });

  it("6: a disconnected agent is removed from the registry, with an event and its reason", async () => {
    const agent = await SeedAgent.dial(url, { session: "going", agent: "agent_g" });
    agent[Symbol.dispose]();
    const { body } = await coordinator.event("going", "agent.disconnected");
    expect(body["payload"]).toEqual({ agent_id: "agent_g", role: "coding", reason: "cut", code: 1006 });
    const { stdout } = await runRelay(["status", "--json", "--nats-url", nats.url]);
    expect(stdout).not.toContain("agent_g");
  });

  it("7: events are logged as JSON lines in the required form, without any content", async () => {
    using agent = await SeedAgent.dial(url, { session: "logged", agent: "agent_l" });
    agent.answer = () => textResult("a secret answer");
    await coordinator.work("logged", { id: "l1", type: "work.coding", payload: { task: "a secret task" } });
    await coordinator.results("logged", 1);
    const ours = () => relay.lines.filter((line) => line["session_id"] === "logged");
    const actions = ["agent_connected", "message_received", "translated", "message_sent"];
    const seen = () => {
      const logged = new Set(ours().map((line) => line["action"]));
      return actions.every((action) => logged.has(action)) || undefined;
    };
    await until("the log lines", 30_000, seen, () => relay.log);
    const connected = ours().find((line) => line["action"] === "agent_connected");
    expect(connected).toMatchObject({
      ...{ level: "info", component: "relay", session_id: "logged", agent_id: "agent_l", role: "coding" },
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(relay.log).not.toContain("a secret");
  });
});

describe("the relay", () => {
  it("publishes work and waits for its last result with send, and prints the results again with results", async () => {
    using agent = await SeedAgent.dial(url, { session: "sent" });
    agent.answer = () => ({ content: [{ type: "text", text: "hm" }, ...TOOL_USE.content] });
    const place = ["--nats-url", nats.url, "--session", "sent"];
    const sent = await runRelay(["send", ...place, "--role", "coding", "--id", "s1", "--wait", "do it"]);
    expect(sent.stderr).toBe("");
    const lines = sent.stdout.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { id: "s1", type: "result.partial", payload: { text: "hm" }, part: 1, parts: 2 },
      { id: "s1", type: "tool_use", part: 2, parts: 2 },
    ]);
    expect(await runRelay(["results", ...place])).toEqual({ code: 0, stdout: sent.stdout, stderr: "" });
    expect(await runRelay(["results", ...place, "--id", "other"])).toMatchObject({ code: 3 });
  });

  it("answers probes and serves metrics", async () => {
    expect((await relay.health("/readyz")).status).toBe(200);
    const metrics = await (await relay.health("/metrics")).text();
    expect(metrics).toContain("gastown_relay_nats_connected 1");
    expect(metrics).toMatch(/gastown_relay_connections_total\{outcome="open"\} \d+/);
  });
});

it("a coding workflow also runs on the newest server, each turn a span of its work's trace", async (context) => {
  await using collector = await SpanCollector.start();
  await using folder = await mkdtempDisposable(join(tmpdir(), "gt-relay-"));
  const config = join(folder.path, "relay.yaml");
  await writeFile(config, `tracing: { otlp_endpoint: "${collector.url}" }`);
  await using server = await NatsServer.start(await newestNats(context));
  await using newest = await RelayProcess.start(server.url, { args: ["--config", config] });
  await using other = await Coordinator.connect(server);
  const traceparent = await codingWorkflow(other, await newest.url(), "workflow");
  expect(await newest.stop()).toBe(0);
  const [, traceId = "", parentSpanId] = WORK_TRACEPARENT.split("-");
  const attributes = {
    ...{ "gastown.session": "workflow", "gastown.role": "coding", "gastown.dialect": "seed" },
    ...{ "gastown.attempt": 1, "gastown.outcome": "result.success" },
  };
  const turns = collector.spans.filter(({ name }) => name === "relay.turn");
  expect(turns).toMatchObject([
    { traceId, parentSpanId, attributes: { ...attributes, "gastown.outcome": "tool_use" } },
    { traceId, parentSpanId, attributes },
  ]);
  expect(traceparent).toBe(`00-${traceId}-${turns[1]?.spanId}-01`);
  expect(collector.bodies.join()).not.toContain("mplement");
});
