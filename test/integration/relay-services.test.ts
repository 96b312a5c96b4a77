import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { NatsServer, newestNats, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { type ReceivedFrame, SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { VendorClient } from "../support/relay/vendor-client.ts";
import { until } from "../support/sidecar/sidecar.ts";

const TIMES = { timeout: 600_000 };

let folder: string;
let args: readonly string[];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-services-"));
  const config = join(folder, "relay.yaml");
  await writeFile(config, JSON.stringify({ agents_protocol: true, turns: { permission_timeout: "10m" } }));
  args = ["--config", config];
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Acts on a prompt as an ACP agent and returns the answer; undefined: the test answers later, with `agent`. */
type Act = (text: string, agent: SeedAgent, request: ReceivedFrame["value"]) => object | undefined;

/** An ACP agent that has dialled in. */
async function acpAgent(relay: RelayProcess, session: string, act: Act, role = "coding"): Promise<SeedAgent> {
  const agent = SeedAgent.begin(await relay.url(), { session, role, protocols: ["acp.v1"] });
  agent.answer = (request) => {
    if (request["method"] === "initialize") return { protocolVersion: 1, agentCapabilities: {} };
    if (request["method"] !== "session/prompt") return { sessionId: "s-1" };
    return act(blocksOf(request)[0]?.text ?? "", agent, request);
  };
  await until("the agent to be initialized", 60_000, () => agent.requests[0]);
  return agent;
}

interface Block {
  readonly type: string;
  readonly text: string;
}

function blocksOf({ params }: ReceivedFrame["value"]): readonly Block[] {
  return (params as { readonly prompt: readonly Block[] }).prompt;
}

function say(agent: SeedAgent, text: string): void {
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  agent.send({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s-1", update } });
}

describe.concurrent.each([
  ["oldest", (_: TestContext) => oldestNats()],
  ["newest", newestNats],
] as const)("callers of the agent protocol, on the %s server", (_, program) => {
  let starting: ReturnType<typeof start> | undefined;
  afterAll(async () => (await starting)?.stack[Symbol.asyncDispose]());

  async function start(nats: string) {
    await using stack = new AsyncDisposableStack();
    const server = stack.use(await NatsServer.start(nats));
    const coordinator = stack.use(await Coordinator.connect(server));
    const relay = stack.use(await RelayProcess.start(server.url, { args }));
    return { stack: stack.move(), nats: server, coordinator, relay };
  }

  /** The same server and relay for all tests, each of which has sessions of its own. */
  async function bed(context: TestContext) {
    const path = await program(context);
    starting ??= start(path);
    const { nats, coordinator, relay } = await starting;
    return { nats, vendor: await VendorClient.require(context, nats.url), coordinator, relay };
  }

  // Alone, and before the others have lanes too.
  it("find exactly the lanes that have an agent", { ...TIMES, concurrent: false }, async (context) => {
    const { vendor, relay } = await bed(context);
    using coding = await acpAgent(relay, "Sess_1", () => undefined);
    {
      using review = await acpAgent(relay, "b", () => undefined, "review");
      const found = (await vendor.all("discover")).toSorted((a, b) =>
        String(a["agent"]) < String(b["agent"]) ? -1 : 1,
      );
      expect(found).toEqual([
        {
          ...{ id: expect.any(String), agent: "coding", owner: "Sess_1", session: "x--6167656e745f616263" },
          ...{ protocol: "0.3", subject: "agents.prompt.coding.x--536573735f31.x--6167656e745f616263" },
          ...{ max_payload: 512 * 1024, attachments: true, endpoints: ["prompt", "status"] },
        },
        expect.objectContaining({ agent: "review", owner: "b" }),
      ]);
      expect(await vendor.all("beat", "b")).toEqual([
        {
          ...{ online: true, interval: 30, ping: true },
          status: expect.objectContaining({ agent: "review", owner: "b", session: "agent_abc", interval_s: 30 }),
        },
      ]);
      review.socket.close();
      await until("the agent to be gone", 60_000, async () =>
        (await vendor.all("discover")).length === 1 ? 1 : undefined,
      );
    }
    expect(coding.closed).toBeUndefined();
  });

  it("see an agent's text as it arrives, and continue its session", TIMES, async (context) => {
    const { vendor, coordinator, relay } = await bed(context);
    const asked: ReceivedFrame["value"][] = [];
    using agent = await acpAgent(relay, "talk", (_text, _agent, request) => void asked.push(request));
    await using run = vendor.run(
      "prompt",
      "talk",
      "hello",
      "--id",
      "p-1",
      "--attach",
      "notes.txt=read me",
      "--attach",
      "a.png=x",
    );
    const request = await until("the prompt", 60_000, () => asked[0]);
    expect(blocksOf(request)).toEqual([
      { type: "text", text: "hello" },
      { type: "resource", resource: { uri: "attachment:///notes.txt", mimeType: "text/plain", text: "read me" } },
      { type: "image", mimeType: "image/png", data: "eA==" },
    ]);
    say(agent, "one ");
    expect(await run.line("text")).toEqual({ text: "one " }); // while the turn is open
    say(agent, "two");
    agent.send({ jsonrpc: "2.0", id: request["id"], result: { stopReason: "end_turn" } });
    expect(await run.ended()).toEqual([{ status: "ack" }, { text: "one " }, { text: "two" }, { end: true }]);
    const [result] = await coordinator.results("talk", 1);
    expect(result?.body).toMatchObject({ id: "p-1", type: "result.success", payload: { text: "one two" } });
    agent.answer = ({ method }) => (method === "session/prompt" ? { stopReason: "refusal" } : { sessionId: "s-2" });
    expect(await vendor.all("prompt", "talk", "and?")).toEqual([
      { status: "ack" },
      { error: "ProtocolError", message: "service error 500: the agent stopped: refusal" },
    ]);
    const methods = ["initialize", "session/new", "session/prompt", "session/prompt"];
    expect(agent.requests.map(({ value }) => value["method"])).toEqual(methods);
  });

  it("answer an agent's questions: another may be quicker, and a wrong answer is a refusal", TIMES, async (context) => {
    const { vendor, coordinator, relay } = await bed(context);
    let asking: ReceivedFrame["value"] | undefined;
    using agent = await acpAgent(relay, "ask", (_text, its, request) => {
      asking = request;
      const options = [
        { optionId: "yes", name: "Go ahead", kind: "allow_once" },
        { optionId: "no", name: "No", kind: "reject_once" },
      ];
      const toolCall = { toolCallId: "t1", title: "rm -r build", kind: "execute" };
      its.send({
        jsonrpc: "2.0",
        id: 77,
        method: "session/request_permission",
        params: { sessionId: "s-1", toolCall, options },
      });
      return undefined;
    });
    agent.socket.on("message", (data) => {
      const { id, result } = JSON.parse(data.toString()) as ReceivedFrame["value"];
      if (id !== 77) return;
      const { outcome } = result as { readonly outcome: { readonly optionId?: string } };
      say(agent, `decided ${outcome.optionId}`);
      agent.send({ jsonrpc: "2.0", id: asking?.["id"], result: { stopReason: "end_turn" } });
    });
    const question =
      "May the agent do this: rm -r build\nAnswer with one of: yes (Go ahead), no (No). Anything else is a refusal.";
    const told = (text: string) => [{ status: "ack" }, { query: question }, { text }, { end: true }];
    expect(await vendor.all("prompt", "ask", "clean", "--answer", "go ahead")).toEqual(told("decided yes"));
    expect(await vendor.all("prompt", "ask", "clean", "--answer", "whatever")).toEqual(told("decided no"));
    await using run = vendor.run("prompt", "ask", "clean");
    await run.line("query");
    const approvals = await coordinator.stored("RELAY_EVENTS", "sessions.ask.approvals");
    const last = approvals.findLast(({ body }) => body["type"] === "approval.requested");
    const { approval_id } = (last?.body["payload"] ?? {}) as { readonly approval_id?: string };
    const granted = { id: "x", type: "approval.granted", payload: { approval_id } };
    await coordinator.js.publish("sessions.ask.approvals", JSON.stringify(granted)); // someone else is quicker
    expect(await run.ended()).toEqual(told("decided yes"));
  });

  it("get a prompt done once although its relay is killed in mid-turn", TIMES, async (context) => {
    const { nats, vendor, coordinator, relay } = await bed(context);
    const asked: string[] = [];
    const stalled = [{ status: "ack" }, expect.objectContaining({ error: "StreamStalledError" })];
    const args5 = ["do it once", "--id", "p-1", "--timeout", "5"];
    {
      await using doomed = await RelayProcess.start(nats.url, { args });
      using sampled = await SeedAgent.dial(await doomed.url(), { session: "kill" });
      sampled.answer = ({ id }) => void asked.push(String(id));
      using _acp = await acpAgent(doomed, "kill-acp", (text) => void asked.push(text));
      const runs = [vendor.run("prompt", "kill", ...args5), vendor.run("prompt", "kill-acp", ...args5)];
      await until("the prompts", 60_000, () => asked[1]);
      await Promise.all(runs.map((run) => run.line("status")));
      doomed.child.kill("SIGKILL");
      await doomed.exited();
      for (const run of runs) expect(await run.ended()).toEqual(stalled);
    }
    expect(asked.toSorted()).toEqual(["do it once", "p-1"]);
    // An ACP agent may have done it, which is not known, so it is not asked again.
    using _acp = await acpAgent(relay, "kill-acp", (text) => void asked.push(text));
    const uncertain = expect.objectContaining({ message: expect.stringContaining("the outcome is unknown") });
    expect(await vendor.all("prompt", "kill-acp", ...args5)).toEqual([{ status: "ack" }, uncertain]);
    using agent = SeedAgent.begin(await relay.url(), { session: "kill" });
    agent.answer = ({ id }) => {
      asked.push(String(id));
      return textResult("done");
    };
    const [result, ...more] = await coordinator.results("kill", 1);
    expect([result?.body["id"], more]).toEqual(["p-1", []]);
    // The caller repeats the prompt with the same id: it gets the answer, and the agent gets no second prompt.
    const again = [{ status: "ack" }, { text: "done" }, { end: true }];
    expect(await vendor.all("prompt", "kill", "do it once", "--id", "p-1")).toEqual(again);
    await coordinator.allSettled();
    expect(asked.toSorted()).toEqual(["do it once", "p-1", "p-1"]); // a sampling agent was asked again, by the same id
    expect(await coordinator.results("kill", 1)).toHaveLength(1);
    expect(await vendor.all("prompt", "kill", "something else", "--id", "p-1")).toEqual([
      { status: "ack" },
      expect.objectContaining({ message: expect.stringContaining("id_reused") }),
    ]);
  });
});
