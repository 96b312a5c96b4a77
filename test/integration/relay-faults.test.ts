import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess, runRelay } from "../support/relay/relay-process.ts";
import { refusalStatus as refusedAt, SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

let nats: NatsServer;
let relay: RelayProcess;
let coordinator: Coordinator;
let url: string;

beforeAll(async () => {
  nats = await NatsServer.start(await oldestNats());
  const args = ["--ping-interval", "1", "--pong-timeout", "30", "--max-message-bytes", "4096", "--log-level", "debug"];
  relay = await RelayProcess.start(nats.url, { args });
  coordinator = await Coordinator.connect(nats);
  url = await relay.url();
});
afterAll(async () => {
  await coordinator?.[Symbol.asyncDispose]();
  await relay?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
});

const refused = (path: string, options = {}) => refusedAt(`${url}${path}`, options);

const task = (id: string) => ({ id, type: "work.coding", payload: { task: `task ${id}` } });

describe("the requirements' error tables", () => {
  it("missing session or agent id: the connection is rejected before the upgrade", async () => {
    expect(await refused("/acp/s/coding")).toBe(400);
    expect(await refused("/acp/s?agent_id=a")).toBe(400);
    expect(await refused("/other")).toBe(404);
    expect(await refused("/acp/s/coding?agent_id=a", { headers: { "X-Agent-ID": "b" } })).toBe(400);
    expect(await refused("/acp/s/coding?agent_id=a", { protocols: ["soap"] })).toBe(426);
    expect(await refused("/acp/s/coding?agent_id=a", { headers: { Origin: "https://evil.example" } })).toBe(403);
  });

  it("an agent that connects again and again is slowed down with 429", async () => {
    using holder = await SeedAgent.dial(url, { session: "wanted", agent: "holder" });
    const seen = new Set<number>();
    for (let round = 0; round < 40 && !seen.has(429); round++) {
      const tries = Array.from({ length: 10 }, () => refused("/acp/wanted/coding?agent_id=another"));
      for (const status of await Promise.all(tries)) seen.add(status);
    }
    expect([...seen].sort()).toEqual([409, 429]);
    expect(holder.closed).toBeUndefined();
  });

  it("no text of work, agents or people is in the log", async () => {
    const session = "secretive";
    const canary = "canary-4711";
    using agent = await SeedAgent.dial(url, { session });
    agent.answer = ({ id }) => (id === "s3" ? undefined : textResult(canary));
    await coordinator.work(session, {
      id: "s1",
      type: "work.coding",
      payload: { task: canary, requirements: [canary] },
    });
    await coordinator.work(session, `{"id":"s2","type":"${canary}"}`);
    await coordinator.work(session, `{${canary}`);
    await coordinator.work(session, { id: "s3", type: "work.coding", payload: { task: canary } });
    await until("the request", 60_000, () => agent.requests.find(({ value }) => value["id"] === "s3"));
    agent.send(`{${canary}`);
    agent.send({ jsonrpc: "2.0", id: 1, result: canary });
    agent.send({ jsonrpc: "2.0", id: 2, method: "x", params: { canary } });
    await coordinator.control(session, { type: "steer", payload: { text: canary } });
    await coordinator.control(session, `{"type":"${canary}"}`);
    await coordinator.control(session, { id: "s1", type: "cancel", payload: { by: canary } });
    agent.send({ jsonrpc: "2.0", id: "s3", error: { code: 1, message: canary, data: canary } });
    await until("the failure", 60_000, async () => {
      const found = await coordinator.stored("RELAY_RESULTS", `sessions.${session}.results.coding`);
      return found.find(({ body }) => body["id"] === "s3");
    });
    expect(await refused(`/acp/secretive/coding?agent_id=${canary}&x=${canary}`)).toBe(409);
    expect(await refused(`/acp/secretive/coding?agent_id=a+b&x=${canary}`)).toBe(400);
    expect(
      relay.log.replaceAll(`"agent_id":"${canary}"`, "").replaceAll(`/coding?agent_id=${canary}`, ""),
    ).not.toContain(canary);
  });

  it("invalid message: an error response, and the connection continues", async () => {
    using agent = await SeedAgent.dial(url, { session: "invalid" });
    const answers = [
      ["{", { id: null, error: { code: -32700 } }],
      ["[]", { id: null, error: { code: -32600 } }],
      ['{"id":"1","result":{}}', { id: "1", error: { code: -32600 } }],
      ['{"jsonrpc":"2.0","id":7,"method":"fs/read"}', { id: 7, error: { code: -32601 } }],
    ] as const;
    for (const [index, [frame, answer]] of answers.entries()) {
      agent.send(frame);
      const got = await until("the error response", 30_000, () => agent.frames[index + 1]);
      expect(got.value).toMatchObject(answer);
    }
    agent.answer = () => textResult("still here");
    await coordinator.work("invalid", task("i1"));
    expect((await coordinator.results("invalid", 1))[0]?.body["payload"]).toEqual({ text: "still here" });
  });

  it("unsolicited answers are dropped, and the right answer counts once", async () => {
    using agent = await SeedAgent.dial(url, { session: "twice" });
    await coordinator.work("twice", task("t1"));
    await agent.request(1);
    agent.reply("other", textResult("wrong id"));
    agent.send('{"jsonrpc":"2.0","id":1,"result":{"content":"a number is another id"}}');
    agent.reply("t1", textResult("right"));
    agent.reply("t1", textResult("again"));
    await coordinator.work("twice", task("t2"));
    await agent.request(2);
    agent.reply("t2", textResult("second"));
    const results = await coordinator.results("twice", 2);
    expect(results.map(({ body }) => body["payload"])).toEqual([{ text: "right" }, { text: "second" }]);
  });

  it("twenty invalid frames, binary ones and large ones close the connection, each with its code", async () => {
    using many = await SeedAgent.dial(url, { session: "many" });
    for (let i = 0; i < 20; i++) many.send("{");
    expect((await many.end()).code).toBe(4400);
    using binary = await SeedAgent.dial(url, { session: "binary" });
    binary.socket.send(Buffer.from([1, 2]));
    expect((await binary.end()).code).toBe(1003);
    using large = await SeedAgent.dial(url, { session: "large" });
    large.send("x".repeat(5000));
    expect((await large.end()).code).toBe(1009);
  });

  it("read timeout: an agent without a pong is disconnected, with an event", async () => {
    using agent = await SeedAgent.dial(url, { session: "silent" });
    agent.socket.pause();
    const body = await until("the event", 100_000, async () => {
      const events = await coordinator.stored("RELAY_EVENTS", "sessions.silent.events");
      return events.find((event) => event.body["type"] === "agent.disconnected")?.body;
    });
    expect(body["payload"]).toMatchObject({ reason: "no pong", code: 4408 });
  });

  it("connection closed during a turn: the same request is sent again once the agent is back", async () => {
    const first = await SeedAgent.dial(url, { session: "back" });
    await coordinator.work("back", task("b1"));
    const asked = await first.request(1);
    first[Symbol.dispose]();
    await coordinator.event("back", "agent.disconnected");
    using second = await SeedAgent.dial(url, { session: "back" });
    expect((await second.request(1)).text).toBe(asked.text);
    second.reply("b1", textResult("done"));
    expect(await coordinator.results("back", 1)).toHaveLength(1);
  });

  it("an agent with too large an answer fails that work, not its lane", async () => {
    const first = await SeedAgent.dial(url, { session: "toomuch" });
    await coordinator.work("toomuch", task("l1"));
    await first.request(1);
    first.reply("l1", textResult("x".repeat(5000)));
    expect((await coordinator.results("toomuch", 1))[0]?.body).toMatchObject({
      ...{ type: "result.failure", payload: { code: -32003, reason: "too_large" } },
    });
    first[Symbol.dispose]();
  });
});

describe("work that cannot be done", () => {
  it.each<[string, string | Uint8Array, string]>([
    ["no JSON", "{not json", "invalid_message"],
    ["no UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "invalid_message"],
    [
      "deeply nested",
      `{"id":"d","type":"work.coding","payload":${"[".repeat(500)}${"]".repeat(500)}}`,
      "invalid_message",
    ],
    ["a lone surrogate", '{"id":"s","type":"work.coding","payload":{"task":"\\ud800"}}', "invalid_message"],
    ["an unknown type", '{"id":"u","type":"work.cooking","payload":{"task":"x"}}', "unknown_type"],
    [
      "another session's",
      '{"id":"o","session_id":"o","type":"work.coding","payload":{"task":"x"}}',
      "session_mismatch",
    ],
    ["too large", `{"id":"l","type":"work.coding","payload":{"task":"${"x".repeat(5000)}"}}`, "too_large"],
  ])(
    "%s: it becomes a dead letter with its bytes and reason and an event, and the lane continues",
    async (what, body, reason) => {
      const session = `poison-${what.replace(/\W/g, "-")}`;
      using agent = await SeedAgent.dial(url, { session });
      agent.answer = () => textResult("ok");
      await coordinator.work(session, body);
      await coordinator.work(session, {
        id: "p",
        type: "work.coding",
        payload: JSON.parse('{"task":"x","__proto__":1}'),
      });
      expect((await coordinator.event(session, "work.rejected")).body["payload"]).toMatchObject({ reason });
      const [dead] = await coordinator.stored("RELAY_DEAD", `sessions.${session}.dead.coding`);
      expect(dead?.header("Relay-Reason")).toBe(reason);
      expect(dead?.header("traceparent")).toMatch(/^00-/);
      expect(dead?.text).toBe(typeof body === "string" ? body : new TextDecoder().decode(body));
      const last = async () => {
        const found = await coordinator.stored("RELAY_RESULTS", `sessions.${session}.results.coding`);
        return found.find(({ body: result }) => result["id"] === "p");
      };
      expect((await until("the next work's result", 30_000, last)).body["type"]).toBe("result.success");
    },
  );

  it("work that is published twice is done once, and an id with other work is rejected", async () => {
    using agent = await SeedAgent.dial(url, { session: "again" });
    agent.answer = () => textResult("ok");
    await coordinator.work("again", task("w"), { msgId: "one" });
    await coordinator.results("again", 1);
    await coordinator.work("again", task("w"), { msgId: "two" });
    await coordinator.event("again", "work.duplicate");
    await coordinator.work("again", { id: "w", type: "work.coding", payload: { task: "something else" } });
    expect((await coordinator.event("again", "work.rejected")).body["payload"]).toMatchObject({ reason: "id_reused" });
    const send = ["send", "--session", "again", "--role", "coding", "--id", "w", "--wait", "--timeout", "20s"];
    const at = ["--nats-url", nats.url];
    expect(await runRelay([...send, "task w", ...at])).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('"id":"w","session_id":"again","type":"result.success"') },
    });
    expect(await runRelay([...send, "something else", ...at])).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining("id_reused") },
    });
    expect(await coordinator.results("again", 1)).toHaveLength(1);
    expect(agent.requests).toHaveLength(1);
  });

  it("relay dead lists, shows, requeues and deletes it", async () => {
    await SeedAgent.dial(url, { session: "letters" }).then(async (agent) => {
      await coordinator.work("letters", "{broken");
      await coordinator.event("letters", "work.rejected");
      agent[Symbol.dispose]();
    });
    const at = ["--nats-url", nats.url];
    const listed = await runRelay(["dead", "ls", "--session", "letters", ...at]);
    const seq = listed.stdout.split(" ")[0] ?? "";
    expect(listed.stdout).toContain("letters:coding  invalid_message  7 bytes");
    expect((await runRelay(["dead", "show", seq, ...at])).stdout).toContain("{broken");
    expect(await runRelay(["dead", "drop", seq, "--session", "others", ...at])).toMatchObject({
      ...{ code: 3, stderr: expect.stringContaining(`there is no dead letter ${seq} of others`) },
    });
    expect(await runRelay(["dead", "drop", `0x${seq}`, ...at])).toMatchObject({ code: 2 });
    expect(await runRelay(["dead", "requeue", seq, ...at])).toMatchObject({ code: 0 });
    expect(await coordinator.stored("RELAY_WORK", "sessions.letters.work.coding")).toHaveLength(1);
    expect(await runRelay(["dead", "drop", seq, ...at])).toMatchObject({ code: 3 });
  });
});
