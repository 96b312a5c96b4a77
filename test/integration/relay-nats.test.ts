import { describe, expect, it } from "vitest";
import { NatsServer, newestNats, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { refusalStatus, SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

const task = (id: string) => ({ id, type: "work.coding", payload: { task: `task ${id}` } });

/** Its own server, with a relay and a coordinator. */
async function bed(program: string) {
  const stack = new AsyncDisposableStack();
  const nats = stack.use(await NatsServer.start(program));
  const relay = stack.use(await RelayProcess.start(nats.url, { args: ["--pong-timeout", "120"] }));
  const coordinator = stack.use(await Coordinator.connect(nats));
  return { nats, relay, coordinator, url: await relay.url(), [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function isReady(relay: RelayProcess, status: number): Promise<void> {
  await until(`/readyz to answer ${status}`, 60_000, async () => {
    return (await relay.health("/readyz")).status === status || undefined;
  });
}

/** The ids and texts of a session's results, once there are `count`. */
async function texts(coordinator: Coordinator, session: string, count: number) {
  const results = await coordinator.results(session, count);
  return results.map(({ body }) => [body["id"], (body["payload"] as { text?: string }).text]);
}

describe.concurrent.each([
  ["oldest", () => oldestNats()],
  ["newest", newestNats],
] as const)("with the %s server", (_name, program) => {
  it("agents stay connected while it is killed and restarted, and their turns end once each, in order", async (context) => {
    await using it = await bed(await program(context));
    const { nats, relay, coordinator, url } = it;
    using agent = await SeedAgent.dial(url, { session: "s" });
    using idle = await SeedAgent.dial(url, { session: "idle" });
    idle.answer = ({ id }) => textResult(`done ${String(id)}`);
    for (let round = 1; round <= 2; round++) {
      await coordinator.work("s", task(`a${round}`));
      await coordinator.work("s", task(`b${round}`));
      await until(
        "the first of both",
        60_000,
        () => agent.requests.some(({ value }) => value["id"] === `a${round}`) || undefined,
      );
      await nats.kill();
      await isReady(relay, 503);
      expect(await refusalStatus(`${url}/acp/new/coding?agent_id=a`)).toBe(503);
      agent.reply(`a${round}`, textResult(`a${round}`)); // while no one can store it
      await nats.restart();
      await isReady(relay, 200);
      await coordinator.back();
      await until(
        "the second",
        60_000,
        () => agent.requests.some(({ value }) => value["id"] === `b${round}`) || undefined,
      );
      agent.reply(`b${round}`, textResult(`b${round}`));
      await coordinator.results("s", round * 2);
    }
    await coordinator.work("idle", task("i"));
    expect(await texts(coordinator, "idle", 1)).toEqual([["i", "done i"]]);
    await coordinator.allSettled();
    const ids = ["a1", "b1", "a2", "b2"];
    expect(await texts(coordinator, "s", 4)).toEqual(ids.map((id) => [id, id]));
    expect(agent.requests.map(({ value }) => value["id"])).toEqual(ids);
    expect([agent.closed, idle.closed]).toEqual([undefined, undefined]);
  });

  it("an open permission is decided by the answer that comes after it was killed and restarted", async (context) => {
    await using it = await bed(await program(context));
    const { nats, relay, coordinator, url } = it;
    using agent = SeedAgent.begin(url, { session: "s", protocols: ["acp.v1"] });
    const answers: Readonly<Record<string, object>> = {
      initialize: { protocolVersion: 1, agentCapabilities: {} },
      "session/new": { sessionId: "one" },
    };
    agent.answer = ({ method }) => answers[String(method)];
    await coordinator.work("s", task("w1"));
    const { value: prompt } = await agent.request(3);
    const params = {
      ...{ sessionId: "one", toolCall: { toolCallId: "t1", kind: "edit" } },
      options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
    };
    agent.send({ jsonrpc: "2.0", id: "ask", method: "session/request_permission", params });
    const asked = await until("the request", 60_000, async () => {
      return (await coordinator.stored("RELAY_EVENTS", "sessions.s.approvals"))[0]?.body["payload"];
    });
    await nats.kill();
    await isReady(relay, 503);
    await nats.restart();
    await isReady(relay, 200);
    await coordinator.back();
    const payload = { approval_id: (asked as Record<string, unknown>)["approval_id"] };
    await coordinator.js.publish(
      "sessions.s.approvals",
      JSON.stringify({ id: "x", type: "approval.granted", payload }),
    );
    const decided = await until("the decision", 60_000, () => agent.frames.find(({ value }) => value["id"] === "ask"));
    expect(decided.value["result"]).toEqual({ outcome: { outcome: "selected", optionId: "yes" } });
    agent.reply(prompt["id"], { stopReason: "end_turn" });
    await coordinator.results("s", 1);
    await coordinator.allSettled();
  });

  it("a turn ends once the suspended server continues", async (context) => {
    await using it = await bed(await program(context));
    const { nats, coordinator, url } = it;
    using agent = await SeedAgent.dial(url, { session: "s" });
    await coordinator.work("s", task("w1"));
    await agent.request(1);
    nats.signal("SIGSTOP");
    agent.reply("w1", textResult("one"));
    nats.signal("SIGCONT");
    agent.answer = () => textResult("two");
    await coordinator.work("s", task("w2"));
    expect(await texts(coordinator, "s", 2)).toEqual([
      ["w1", "one"],
      ["w2", "two"],
    ]);
    await coordinator.allSettled();
  });

  it("the loss of its store is reported, open turns are uncertain, and every lane continues", async (context) => {
    await using it = await bed(await program(context));
    const { nats, relay, coordinator, url } = it;
    using busy = await SeedAgent.dial(url, { session: "busy" });
    using idle = await SeedAgent.dial(url, { session: "idle" });
    idle.answer = ({ id }) => textResult(`idle ${String(id)}`);
    await coordinator.work("idle", task("i0"));
    await coordinator.work("busy", task("b1"));
    await busy.request(1);
    await coordinator.results("idle", 1);
    await nats.kill();
    await isReady(relay, 503);
    await nats.restart({ empty: true });
    expect(await relay.logged("store_lost")).toMatchObject({
      level: "error",
      streams: ["RELAY_WORK", "RELAY_RESULTS", "RELAY_EVENTS", "RELAY_DEAD", "RELAY_LANES"],
    });
    await coordinator.back();
    const { body } = await coordinator.event("busy", "work.uncertain");
    expect(body["payload"]).toEqual({ role: "coding", id: "b1", reason: "store_lost" });
    busy.reply("b1", textResult("of work that is gone"));
    await coordinator.work("busy", task("b2"));
    await coordinator.work("idle", task("i1"));
    await until("the next request", 60_000, () => busy.requests.some(({ value }) => value["id"] === "b2") || undefined);
    busy.reply("b2", textResult("b2"));
    expect(await texts(coordinator, "busy", 1)).toEqual([["b2", "b2"]]);
    expect(await texts(coordinator, "idle", 1)).toEqual([["i1", "idle i1"]]);
    await coordinator.allSettled();
    expect([busy.closed, idle.closed]).toEqual([undefined, undefined]);
  });
});
