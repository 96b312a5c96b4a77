import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Acp2Agent } from "../support/relay/acp2-agent.ts";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { refusalStatus, SeedAgent } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

const TIMES = { timeout: 300_000 };

let folder: string;
let nats: NatsServer;
let coordinator: Coordinator;
let relay: RelayProcess;
let url: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-acp2-"));
  nats = await NatsServer.start(await oldestNats());
  coordinator = await Coordinator.connect(nats);
  const config = join(folder, "relay.yaml");
  const turns = { permission_timeout: "30m", create_timeout: "10m" };
  await writeFile(config, JSON.stringify({ dialects: { acp_v2: true }, turns }));
  relay = await RelayProcess.start(nats.url, { args: ["--config", config] });
  url = await relay.url();
}, TIMES.timeout);
afterAll(async () => {
  await relay?.[Symbol.asyncDispose]();
  await coordinator?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const task = (id: string, text: string, more: object = {}) => ({
  ...{ id, type: "work.coding", payload: { task: text, ...more } },
});
const success = (text: string) => ({ type: "result.success", payload: { text, stop_reason: "end_turn" } });

describe.concurrent("an ACP agent of version 2", () => {
  it("gets prompts, its turn ends when it is idle, and its updates become progress unchanged", TIMES, async () => {
    const progress: Record<string, unknown>[] = [];
    coordinator.nc.subscribe("sessions.turns.progress.coding", {
      callback: (_err, message) => void progress.push(message.json<Record<string, unknown>>()),
    });
    await coordinator.nc.flush();
    using peer = await Acp2Agent.dial(url, { session: "turns" });
    await coordinator.work("turns", task("w1", "hello"));
    await coordinator.work("turns", task("w2", "quick", { continue: true }));
    await coordinator.work("turns", task("w3", "another"));
    const results = await coordinator.results("turns", 3);
    expect(results.map(({ body }) => body)).toMatchObject(
      ["hello", "quick", "another"].map((t) => success(`you said ${t}`)),
    );
    expect(results[0]?.header("Relay-Dialect")).toBe("acp2");
    expect(peer.calls).toEqual([
      ...["initialize", "session/new", "session/prompt turns-1", "session/prompt turns-1"],
      ...["session/new", "session/prompt turns-2"],
    ]);
    const first = () => progress.filter(({ id }) => id === "w1");
    await until("the progress", 60_000, () => first().length >= 5 || undefined);
    expect(first().map(({ type, payload }) => [type, payload])).toEqual([
      ["progress.user_message", expect.objectContaining({ messageId: "m-1" })],
      ["progress.state_update", { sessionUpdate: "state_update", state: "running" }],
      ["progress.agent_message_chunk", expect.objectContaining({ messageId: "a-m-1" })],
      ["progress.agent_message_chunk", expect.objectContaining({ content: { type: "text", text: "hello" } })],
      ["progress.state_update", { sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" }],
    ]);
  });

  it("fails work with the error that it reports, and continues", TIMES, async () => {
    using _peer = await Acp2Agent.dial(url, { session: "fails" });
    for (const [index, text] of ["error", "refuse", "fail", "hello"].entries()) {
      await coordinator.work("fails", task(`w${index}`, text));
    }
    const results = await coordinator.results("fails", 4);
    expect(results.map(({ body }) => body)).toMatchObject([
      { type: "result.failure", payload: { error: "not now", code: -32000 } },
      { type: "result.failure", payload: { reason: "refusal" } },
      { type: "result.failure", payload: { error: "no model", code: 7 } },
      success("you said hello"),
    ]);
  });

  it.each([
    ["approval.granted", "yes"],
    ["approval.rejected", "no"],
  ])("requests permission on the session's approvals: %s", TIMES, async (type, option) => {
    const session = `ask-${option}`;
    using _peer = await Acp2Agent.dial(url, { session });
    await coordinator.work(session, task("w1", "ask"));
    const asked = await until("the request", 60_000, async () => {
      const [found] = await coordinator.stored("RELAY_EVENTS", `sessions.${session}.approvals`);
      return found?.body["payload"] as Readonly<Record<string, unknown>> | undefined;
    });
    expect(asked).toMatchObject({
      tool_call: { title: "Run it?", subject: { type: "command", command: "make", cwd: "/" } },
      options: [{ optionId: "yes" }, { optionId: "no" }],
    });
    const answer = { id: "x", type, payload: { approval_id: asked["approval_id"] } };
    await coordinator.js.publish(`sessions.${session}.approvals`, JSON.stringify(answer));
    expect((await coordinator.results(session, 1))[0]?.body).toMatchObject(success(`decided ${option}`));
  });

  it.each([
    ["first-end", ["end_turn", "refusal"], "result.success"],
    ["no-output", ["refusal"], "result.failure"],
  ])(
    "ends a turn with the first idle after the response, however fast it comes: %s",
    TIMES,
    async (session, stops, type) => {
      using agent = SeedAgent.begin(url, { session, protocols: ["acp.v2"] });
      const answers: Readonly<Record<string, object>> = {
        initialize: { protocolVersion: 2, info: { name: "fast", version: "1" }, capabilities: { session: {} } },
        "session/new": { sessionId: "one" },
        "session/prompt": { messageId: "m-1" },
      };
      agent.answer = ({ method }) => answers[String(method)];
      const state = (update: object) => {
        const params = { sessionId: "one", update: { sessionUpdate: "state_update", ...update } };
        agent.send({ jsonrpc: "2.0", method: "session/update", params });
      };
      agent.socket.on("message", (data) => {
        if (JSON.parse(data.toString()).method !== "session/prompt") return;
        for (const stopReason of stops) {
          state({ state: "running" });
          state({ state: "idle", stopReason });
        }
      });
      await coordinator.work(session, task("w1", "hello"));
      expect((await coordinator.results(session, 1))[0]?.body).toMatchObject({ type });
    },
  );

  it("ends a turn that is cancelled", TIMES, async () => {
    using peer = await Acp2Agent.dial(url, { session: "cancel" });
    await coordinator.work("cancel", task("w1", "wait"));
    await until("the prompt", 60_000, () => peer.prompts[0]);
    const { payload } = await coordinator.control("cancel", { id: "w1", type: "cancel", payload: { by: "ann" } });
    expect(payload).toMatchObject({ outcome: "cancelling" });
    expect((await coordinator.results("cancel", 1))[0]?.body).toMatchObject({ type: "result.cancelled" });
    expect(peer.closed).toBeUndefined();
  });

  it(
    "is not prompted again when it disconnects in mid-turn, and the next agent reopens its session",
    TIMES,
    async () => {
      {
        using _peer = await Acp2Agent.dial(url, { session: "gone" });
        await coordinator.work("gone", task("w1", "hello"));
        await coordinator.results("gone", 1);
        await coordinator.work("gone", task("w2", "gone", { continue: true }));
        await coordinator.event("gone", "agent.disconnected");
      }
      using peer = await Acp2Agent.dial(url, { session: "gone", known: ["gone-1"] });
      await coordinator.work("gone", task("w3", "back", { continue: true }));
      const results = await coordinator.results("gone", 3);
      expect(results.map(({ body }) => [body["id"], body["payload"]])).toMatchObject([
        ["w1", { text: "you said hello" }],
        ["w2", { reason: "uncertain" }],
        ["w3", { text: "you said back" }],
      ]);
      expect(peer.calls).toEqual(["initialize", "session/resume gone-1", "session/prompt gone-1"]);
    },
  );

  it("that answers with version 1 fails its work", TIMES, async () => {
    using agent = SeedAgent.begin(url, { session: "older", protocols: ["acp.v2"] });
    agent.answer = () => ({ protocolVersion: 1, agentCapabilities: {} });
    await agent.request(1);
    await coordinator.work("older", task("w1", "hello"));
    const [result] = await coordinator.results("older", 1);
    expect(result?.body["payload"]).toMatchObject({ reason: "agent_protocol" });
    expect(agent.requests).toHaveLength(1);
  });
});

it("acp.v2 is accepted only if it is enabled", TIMES, async () => {
  await using plain = await RelayProcess.start(nats.url);
  const place = "/acp/flag/coding?agent_id=agent_2";
  expect(await refusalStatus(`${await plain.url()}${place}`, { protocols: ["acp.v2"] })).toBe(426);
  using agent = SeedAgent.begin(url, { session: "flag", protocols: ["acp.v2", "acp.v1"] });
  await agent.request(1);
  expect(agent.socket.protocol).toBe("acp.v2");
});
