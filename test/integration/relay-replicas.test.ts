import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { refusalStatus as refusedAt, SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

let folder: string;
let nats: NatsServer;
let one: RelayProcess;
let other: RelayProcess;
let coordinator: Coordinator;

beforeAll(async () => {
  nats = await NatsServer.start(await oldestNats());
  folder = await mkdtemp(join(tmpdir(), "gt-relay-replicas-"));
  // Longer than a relay on a busy machine needs for an answer.
  await writeFile(join(folder, "patient.yaml"), "turns: { holder_timeout: 15s }\n");
  await writeFile(join(folder, "draining.yaml"), "turns: { drain_timeout: 0s }\n");
  [one, other] = await Promise.all([relay("patient"), relay("patient")]);
  coordinator = await Coordinator.connect(nats);
});
afterAll(async () => {
  await coordinator?.[Symbol.asyncDispose]();
  await Promise.all([one?.[Symbol.asyncDispose](), other?.[Symbol.asyncDispose]()]);
  await nats?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function relay(config?: string): Promise<RelayProcess> {
  const args = ["--pong-timeout", "120", ...(config === undefined ? [] : ["--config", join(folder, `${config}.yaml`)])];
  return RelayProcess.start(nats.url, { args });
}

const task = (id: string) => ({ id, type: "work.coding", payload: { task: `task ${id}` } });

/** Waits until the agent has the work's request, which is not answered yet. */
async function openTurn(agent: SeedAgent, session: string): Promise<string> {
  await coordinator.work(session, task("w1"));
  return (await agent.request(1)).text;
}

/**
 * Checks that the agent gets the request that another one left open, answers it and the next work, and that each has
 * one result.
 */
async function takesOver(agent: SeedAgent, session: string, asked: string): Promise<void> {
  agent.answer = ({ id }) => textResult(`done ${String(id)}`);
  const again = await agent.request(1);
  expect(again.text).toBe(asked);
  agent.reply("w1", textResult("done w1"));
  await coordinator.work(session, task("w2"));
  const results = await coordinator.results(session, 2);
  expect(results.map(({ body }) => body["payload"])).toEqual([{ text: "done w1" }, { text: "done w2" }]);
}

const refused = (url: string, session: string, agent: string) =>
  refusedAt(`${url}/acp/${session}/coding?agent_id=${agent}`);

describe.concurrent("two relays on one NATS", () => {
  it("hand an agent's lane and open turn over when it connects to the other relay, and close the old socket", async () => {
    const session = "moves";
    using old = await SeedAgent.dial(await one.url(), { session });
    const asked = await openTurn(old, session);
    using moved = await SeedAgent.dial(await other.url(), { session });
    expect(await old.end()).toEqual({ code: 4001, reason: "superseded" });
    await takesOver(moved, session, asked);
    expect((await coordinator.event(session, "agent.superseded")).body["payload"]).toEqual({
      ...{ agent_id: "agent_abc", role: "coding" },
    });
  });

  it("serve an agent that dials both repeatedly over its newest connection", async () => {
    const session = "both";
    const urls = [await one.url(), await other.url(), await one.url()];
    const dialled: SeedAgent[] = [];
    for (let round = 0; round < 3; round++) {
      for (const url of urls) dialled.push(SeedAgent.begin(url, { session }));
    }
    await until("all but one to be closed", 100_000, () => {
      const count = (state: number) => dialled.filter(({ socket }) => socket.readyState === state).length;
      return (count(WebSocket.CONNECTING) === 0 && count(WebSocket.OPEN) === 1) || undefined;
    });
    const holder = dialled.find(({ socket }) => socket.readyState === WebSocket.OPEN);
    if (holder !== undefined) holder.answer = ({ id }) => textResult(`done ${String(id)}`);
    await coordinator.work(session, task("w1"));
    await coordinator.work(session, task("w2"));
    const results = await coordinator.results(session, 2);
    expect(results.map(({ body }) => body["payload"])).toEqual([{ text: "done w1" }, { text: "done w2" }]);
    for (const agent of dialled) agent[Symbol.dispose]();
  });

  it("refuse a lane to another agent while its holder lives, whichever relay it dials", async () => {
    const session = "held";
    using holder = await SeedAgent.dial(await one.url(), { session, agent: "agent_1" });
    expect(await refused(await other.url(), session, "agent_2")).toBe(409);
    expect(await refused(await one.url(), session, "agent_2")).toBe(409);
    holder.answer = () => textResult("still held");
    await coordinator.work(session, task("w1"));
    expect((await coordinator.results(session, 1))[0]?.body["payload"]).toEqual({ text: "still held" });
  });

  it("give a killed relay's lane and open turn to another agent", async () => {
    const session = "killed";
    await using doomed = await relay();
    using lost = await SeedAgent.dial(await doomed.url(), { session, agent: "agent_1" });
    const asked = await openTurn(lost, session);
    doomed.child.kill("SIGKILL");
    expect((await lost.end()).code).toBe(1006);
    using next = await SeedAgent.dial(await other.url(), { session, agent: "agent_2" });
    await takesOver(next, session, asked);
  });

  it("give a suspended relay's lane to another agent, and ignore its later answers", async () => {
    const session = "hung";
    await using hung = await relay();
    await using quick = await relay();
    using late = await SeedAgent.dial(await hung.url(), { session, agent: "agent_1" });
    const asked = await openTurn(late, session);
    hung.child.kill("SIGSTOP");
    late.reply("w1", textResult("too late"));
    using next = await SeedAgent.dial(await quick.url(), { session, agent: "agent_2" });
    await takesOver(next, session, asked);
    hung.child.kill("SIGCONT");
    expect((await late.end()).code).toBe(4001);
    expect(await coordinator.results(session, 2)).toHaveLength(2);
  });

  it("hand a stopping relay's open turn to the other one", async () => {
    const session = "drains";
    await using draining = await relay("draining");
    using first = await SeedAgent.dial(await draining.url(), { session });
    const asked = await openTurn(first, session);
    const ended = draining.stop();
    expect((await first.end()).code).toBe(1001);
    using second = await SeedAgent.dial(await other.url(), { session });
    await takesOver(second, session, asked);
    expect(await ended).toBe(7);
  });
});
