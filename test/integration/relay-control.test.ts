import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NatsServer, newestNats, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator, type Stored } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

let folder: string;
let nats: NatsServer;
let one: RelayProcess;
let other: RelayProcess;
let coordinator: Coordinator;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-control-"));
  await writeFile(join(folder, "graceful.yaml"), "turns: { cancel_grace: 2s }\n");
  await writeFile(join(folder, "patient.yaml"), "turns: { cancel_grace: 10m }\n");
  nats = await NatsServer.start(await oldestNats());
  [one, other] = await Promise.all([relay(nats, "graceful"), relay(nats, "patient")]);
  coordinator = await Coordinator.connect(nats);
});
afterAll(async () => {
  await coordinator?.[Symbol.asyncDispose]();
  await Promise.all([one?.[Symbol.asyncDispose](), other?.[Symbol.asyncDispose]()]);
  await nats?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function relay(server: NatsServer, config: string): Promise<RelayProcess> {
  const args = ["--pong-timeout", "120", "--config", join(folder, `${config}.yaml`)];
  return RelayProcess.start(server.url, { args });
}

const task = (id: string, more = {}) => ({ id, type: "work.coding", payload: { task: `task ${id}`, ...more } });

const bodies = (results: readonly Stored[]) =>
  results.map(({ body }) => [body["id"], body["type"], body["payload"]] as const);

/** An ACP agent's socket in a session of its own, with a prompt open; returns the id of the prompt's request. */
async function prompted(session: string, relayOf: RelayProcess, initialized: object = {}) {
  const agent = SeedAgent.begin(await relayOf.url(), { session, protocols: ["acp.v1"] });
  const initialize = await agent.request(1);
  agent.reply(initialize.value["id"], { protocolVersion: 1, agentCapabilities: {}, ...initialized });
  await coordinator.work(session, task("w1"));
  const create = await agent.request(2);
  agent.reply(create.value["id"], { sessionId: "s-1" });
  const prompt = await agent.request(3);
  expect(prompt.value["method"]).toBe("session/prompt");
  return { agent, promptId: prompt.value["id"] };
}

describe.concurrent("cancel", () => {
  it("of an open turn notifies the agent, and disconnects one that does not end it and ignores its answer", async () => {
    const session = "ignores";
    using agent = await SeedAgent.dial(await one.url(), { session });
    await coordinator.work(session, task("w1"));
    await agent.request(1);
    const reply = await coordinator.control(session, { id: "w1", type: "cancel", payload: { by: "ann" } });
    expect(reply).toEqual({
      ...{ id: "w1", session_id: session, role: "coding", type: "cancel" },
      payload: { outcome: "cancelling" },
    });
    await coordinator.control(session, { id: "w1", type: "cancel", payload: { by: "bob" } });
    expect((await agent.request(2)).value).toMatchObject({
      ...{ method: "notifications/cancelled", params: { requestId: "w1" } },
    });
    expect((await agent.end()).code).toBe(1008);
    expect(bodies(await coordinator.results(session, 1))).toEqual([["w1", "result.cancelled", { by: "ann" }]]);
    using again = await SeedAgent.dial(await one.url(), { session });
    again.answer = ({ id }) => textResult(`done ${String(id)}`);
    again.reply("w1", textResult("too late"));
    await coordinator.work(session, task("w2"));
    expect(bodies(await coordinator.results(session, 2))[1]).toEqual(["w2", "result.success", { text: "done w2" }]);
    expect(await coordinator.control(session, { id: "w1", type: "cancel" })).toMatchObject({
      payload: { outcome: "done" },
    });
  });

  it("of a turn whose agent answers anyway keeps that answer", async () => {
    const session = "crosses";
    using agent = await SeedAgent.dial(await other.url(), { session });
    await coordinator.work(session, task("w1"));
    await agent.request(1);
    await coordinator.control(session, { id: "w1", type: "cancel" });
    await agent.request(2);
    agent.reply("w1", textResult("ready"));
    expect(bodies(await coordinator.results(session, 1))).toEqual([["w1", "result.success", { text: "ready" }]]);
    expect(agent.closed).toBeUndefined();
  });

  it("of an ACP agent's turn sends session/cancel, cancels an open permission, and keeps the session", async () => {
    const session = "acp-cancel";
    const { agent, promptId } = await prompted(session, other);
    using _ = agent;
    agent.send({
      ...{ jsonrpc: "2.0", id: 77, method: "session/request_permission" },
      params: { sessionId: "s-1", toolCall: { toolCallId: "t" }, options: [] },
    });
    await until("the request for approval", 60_000, async () => {
      return (await coordinator.stored("RELAY_EVENTS", `sessions.${session}.approvals`))[0];
    });
    await coordinator.control(session, { id: "w1", type: "cancel", payload: { by: "ann" } });
    const cancel = await agent.request(4);
    expect(cancel.value).toMatchObject({ method: "session/cancel", params: { sessionId: "s-1" } });
    const denied = await until("the permission's answer", 60_000, () =>
      agent.frames.find(({ value }) => value["id"] === 77),
    );
    expect(denied.value["result"]).toEqual({ outcome: { outcome: "cancelled" } });
    agent.reply(promptId, { stopReason: "cancelled" });
    expect(bodies(await coordinator.results(session, 1))).toEqual([["w1", "result.cancelled", { by: "ann" }]]);
    await coordinator.work(session, task("w2", { continue: true }));
    const next = await agent.request(5);
    expect(next.value).toMatchObject({ method: "session/prompt", params: { sessionId: "s-1" } });
    agent.reply(next.value["id"], { stopReason: "end_turn" });
    expect((await coordinator.results(session, 2))[1]?.body["type"]).toBe("result.success");
  });

  it("reaches the relay that holds the lane through either relay, ten times in a row", async () => {
    const session = "either";
    using agent = await SeedAgent.dial(await one.url(), { session });
    for (let i = 0; i < 10; i++) {
      expect(await coordinator.control(session, { type: "status" })).toMatchObject({
        payload: { state: "held", agent_id: "agent_abc", dialect: "seed", turn: null, queued: 0 },
      });
    }
    agent[Symbol.dispose]();
  });

  it("is refused if it is malformed, and answered with unknown for missing work", async () => {
    const session = "unread";
    const errors: readonly (readonly [object | string, string])[] = [
      ["{", "invalid_message"],
      [{ type: "cancel" }, "invalid_message"],
      [{ type: "stop", id: "x" }, "unknown_type"],
      [{ type: "status", session_id: "another" }, "session_mismatch"],
      [{ type: "steer", payload: { text: "x".repeat(70_000) } }, "too_large"],
    ];
    for (const [body, reason] of errors) {
      expect(await coordinator.control(session, body)).toMatchObject({ type: "control.error", payload: { reason } });
    }
    const unknown = { payload: { outcome: "unknown" } };
    expect(await coordinator.control(session, { id: "no", type: "cancel" })).toMatchObject(unknown);
    using agent = await SeedAgent.dial(await one.url(), { session });
    expect(await coordinator.control(session, { id: "no", type: "cancel" })).toMatchObject(unknown);
    expect(agent.requests).toEqual([]);
  });
});

describe.concurrent("steer", () => {
  it("sends text into the open turn of an ACP agent that supports it", async () => {
    const session = "steered";
    const { agent, promptId } = await prompted(session, one, { _meta: { steering: { supported: true } } });
    using _ = agent;
    const asked = coordinator.control(session, { id: "w1", type: "steer", payload: { text: "rather in Go" } });
    const steer = await agent.request(4);
    expect(steer.value).toMatchObject({
      method: "_session/steering",
      params: {
        ...{ sessionId: "s-1", prompt: [{ type: "text", text: "rather in Go" }] },
        _meta: { steering: { idleBehavior: "promptRequired" } },
      },
    });
    agent.reply(steer.value["id"], { outcome: "injected" });
    expect(await asked).toMatchObject({ payload: { outcome: "steered" } });
    agent.reply(promptId, { stopReason: "end_turn" });
    expect((await coordinator.results(session, 1))[0]?.body["type"]).toBe("result.success");
    expect(await coordinator.control(session, { type: "steer", payload: { text: "x" } })).toMatchObject({
      payload: { outcome: "idle" },
    });
  });

  it("is refused for an agent that does not support it", async () => {
    const session = "straight";
    using agent = await SeedAgent.dial(await one.url(), { session });
    await coordinator.work(session, task("w1"));
    await agent.request(1);
    const steer = { type: "steer", payload: { prompt: [{ type: "text", text: "x" }] } };
    expect(await coordinator.control(session, steer)).toMatchObject({ payload: { outcome: "unsupported" } });
    const { agent: plain } = await prompted("plain", one);
    using _ = plain;
    expect(await coordinator.control("plain", steer)).toMatchObject({ payload: { outcome: "unsupported" } });
  });
});

describe.concurrent.each([
  ["oldest", () => oldestNats()],
  ["newest", newestNats],
] as const)("on the %s server", (name, program) => {
  it("queued work is cancelled once, with or without an agent", async (context) => {
    await using server = await NatsServer.start(await program(context));
    await using there = await relay(server, "graceful");
    await using to = await Coordinator.connect(server);
    await to.work("s", task("w1"));
    await to.work("s", task("w2"));
    expect(await to.control("s", { id: "w2", type: "status" })).toMatchObject({
      payload: { state: "free", turn: null, queued: 2, work: "queued" },
    });
    expect(await to.control("s", { id: "w2", type: "cancel" })).toMatchObject({ payload: { outcome: "cancelled" } });
    expect(bodies(await to.results("s", 1))).toEqual([["w2", "result.cancelled", { by: "control" }]]);
    expect(await to.waiting()).toBe(1);
    using agent = await SeedAgent.dial(await there.url(), { session: "s" });
    await agent.request(1);
    await to.work("s", task("w3"));
    await to.work("s", task("w4"));
    expect(await to.control("s", { id: "w3", type: "cancel" })).toMatchObject({ payload: { outcome: "cancelled" } });
    expect(await to.control("s", { id: "w3", type: "status" })).toMatchObject({
      payload: { state: "held", turn: { id: "w1", attempt: 1 }, queued: 3, work: "cancelled" },
    });
    agent.answer = ({ id }) => textResult(`done ${String(id)}`);
    agent.reply("w1", textResult("done w1"));
    expect(bodies(await to.results("s", 4)).slice(1)).toEqual([
      ["w1", "result.success", { text: "done w1" }],
      ["w3", "result.cancelled", { by: "control" }],
      ["w4", "result.success", { text: "done w4" }],
    ]);
    await to.allSettled();
    expect(agent.requests.map(({ value }) => value["id"])).toEqual(["w1", "w4"]);
  });

  it("work that gets no agent in time becomes a dead letter", async (context) => {
    await writeFile(join(folder, `brief-${name}.yaml`), "turns: { work_ttl: 8s }\n");
    await using server = await NatsServer.start(await program(context));
    await using there = await relay(server, `brief-${name}`);
    await using to = await Coordinator.connect(server);
    using agent = await SeedAgent.dial(await there.url(), { session: "served" });
    await to.work("served", task("open"));
    await agent.request(1);
    await to.work("left", task("e1"));
    await to.work("left", task("e2"));
    const results = await to.results("left", 2);
    expect(bodies(results).map(([id, type]) => [id, type])).toEqual([
      ["e1", "result.failure"],
      ["e2", "result.failure"],
    ]);
    expect(results[0]?.body["payload"]).toMatchObject({ reason: "expired" });
    const dead = await to.stored("RELAY_DEAD", "sessions.left.dead.coding");
    expect(dead.map((letter) => [letter.body["id"], letter.header("Relay-Reason")])).toEqual([
      ["e1", "expired"],
      ["e2", "expired"],
    ]);
    agent.reply("open", textResult("however long it takes"));
    expect((await to.results("served", 1))[0]?.body["type"]).toBe("result.success");
    await to.allSettled();
  });
});

describe("a turn's time limits", () => {
  const limits = [
    ["whole", "turns: { deadline: 2s, cancel_grace: 1s }\n"],
    ["idle", "turns: { idle: 2s, cancel_grace: 1s }\n"],
    ["creating", "turns: { create_timeout: 2s }\n"],
  ] as const;

  it.concurrent.each(limits)(
    "%s: an agent that exceeds it fails the work, and the next work continues",
    async (what, yaml) => {
      const session = `time-${what}`;
      await writeFile(join(folder, `${what}.yaml`), yaml);
      await using strict = await relay(nats, what);
      const protocols = what === "creating" ? ["acp.v1"] : [];
      using agent = SeedAgent.begin(await strict.url(), { session, protocols });
      if (what === "creating") {
        const initialize = await agent.request(1);
        agent.reply(initialize.value["id"], { protocolVersion: 1, agentCapabilities: {} });
      }
      await coordinator.work(session, task("w1"));
      const [failed] = await coordinator.results(session, 1);
      expect(failed?.body).toMatchObject({
        ...{ id: "w1", type: "result.failure", payload: { reason: "deadline", code: -32002 } },
      });
      if (what === "creating") {
        expect(agent.requests.map(({ value }) => value["method"])).toEqual(["initialize", "session/new"]);
        return;
      }
      expect(agent.requests.map(({ value }) => value["method"])).toEqual([
        "sampling/createMessage",
        "notifications/cancelled",
      ]);
      expect((await agent.end()).code).toBe(1008);
      using back = await SeedAgent.dial(await strict.url(), { session });
      await coordinator.work(session, task("w2"));
      expect((await back.request(1)).value["id"]).toBe("w2");
    },
  );
});
