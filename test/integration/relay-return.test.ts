import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { FaithfulAgent } from "../support/relay/faithful-agent.ts";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

const PATIENCE_MS = 300_000;
const WITHIN_MS = 500;
let folder: string;
let nats: NatsServer;
let coordinator: Coordinator;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-return-"));
  // Redelivery by the server's clock would come after the test's end.
  await writeFile(join(folder, "relay.yaml"), "turns: { ack_wait: 10m, holder_timeout: 15s, drain_timeout: 60s }\n");
  nats = await NatsServer.start(await oldestNats());
  coordinator = await Coordinator.connect(nats);
});
afterAll(async () => {
  await coordinator?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function relay(): Promise<RelayProcess> {
  return RelayProcess.start(nats.url, { args: ["--pong-timeout", "300", "--config", join(folder, "relay.yaml")] });
}

const task = (id: string) => ({ id, type: "work.coding", payload: { task: `task ${id}` } });

/** Dials and returns the time until the interrupted request is there again. */
async function timeToWork(url: string, session: string): Promise<{ readonly agent: SeedAgent; readonly ms: number }> {
  const from = performance.now();
  const agent = SeedAgent.begin(url, { session });
  const ms = await new Promise<number>((resolve, reject) => {
    agent.socket.on("message", () => {
      if (agent.requests.length > 0) resolve(performance.now() - from);
    });
    agent.socket.on("close", (code) => reject(new Error(`the relay closed the connection with ${code}`)));
  });
  return { agent, ms };
}

it("an agent that reconnects to either relay gets its interrupted work again within 500 ms", {
  timeout: PATIENCE_MS,
}, async () => {
  await using one = await relay();
  await using other = await relay();
  const [here, there] = [await one.url(), await other.url()];
  let agent = await SeedAgent.dial(here, { session: "back" });
  const times: Record<"same" | "other", number[]> = { same: [], other: [] };
  let at = here;
  // Each round has work of its own: what is interrupted again waits for `turns.backoff`.
  for (let round = 0; round < 12; round++) {
    const before = agent.requests.length;
    await coordinator.work("back", task(`w${round}`));
    const asked = (await agent.request(before + 1)).text;
    const next = round % 2 === 0 ? at : at === here ? there : here;
    agent.socket.terminate();
    const back = await timeToWork(next, "back");
    expect(back.agent.requests.map(({ text }) => text)).toEqual([asked]);
    back.agent.reply(`w${round}`, textResult(`done w${round}`));
    times[next === at ? "same" : "other"].push(back.ms);
    [agent, at] = [back.agent, next];
  }
  const results = await coordinator.results("back", 12);
  expect(results.map(({ body }) => body["payload"])).toEqual(
    Array.from({ length: 12 }, (_, n) => ({ text: `done w${n}` })),
  );
  agent[Symbol.dispose]();
  // Only the quickest counts, because the machine may be busy.
  expect(Math.min(...times.same), `ms: ${times.same.join(", ")}`).toBeLessThanOrEqual(WITHIN_MS);
  expect(Math.min(...times.other), `ms: ${times.other.join(", ")}`).toBeLessThanOrEqual(WITHIN_MS);
});

it("a rolling restart under load loses nothing: both relays drain, each work has one result", {
  timeout: PATIENCE_MS,
}, async () => {
  const relays = await Promise.all([relay(), relay()]);
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => {
    for (const each of relays) await each[Symbol.asyncDispose]();
  });
  const urls = await Promise.all(relays.map((each) => each.url()));
  let dials = 0;
  const url = () => urls[dials++ % 2] as string;
  const sessions = Array.from({ length: 20 }, (_, i) => `rolling${i}`);
  const agents = sessions.map((session) => {
    const agent: FaithfulAgent = stack.use(
      new FaithfulAgent({
        ...{ session, agent: "agent_abc", url },
        answer: (id) => {
          setTimeout(() => agent.reply(id, textResult(`${session} ${id}`)), 20);
          return undefined;
        },
      }),
    );
    return agent;
  });
  let [isOver, published] = [false, 0];
  const loading = sessions.map(async (session) => {
    for (let n = 1; !isOver; n++) {
      await coordinator.work(session, task(`w${n}`));
      published++;
      const subject = `sessions.${session}.work.coding`;
      await until(
        "the lane to go on",
        PATIENCE_MS,
        async () => (await coordinator.waitingIn(subject)) < 3 || undefined,
      );
    }
  });
  const answered = () => agents.reduce((sum, { asked }) => sum + asked.length, 0);
  for (const index of [0, 1]) {
    const from = answered();
    await until("the load", PATIENCE_MS, () => answered() > from + 100 || undefined);
    expect(await relays[index]?.stop()).toBe(0);
    relays[index] = await relay();
    urls[index] = (await relays[index]?.url()) as string;
  }
  isOver = true;
  await Promise.all(loading);
  await until("all work to be settled", PATIENCE_MS, async () => (await coordinator.waiting()) === 0 || undefined);
  const found = await coordinator.stored("RELAY_RESULTS", "sessions.*.results.coding");
  const results = found.filter(({ subject }) => subject.includes("rolling"));
  expect(results).toHaveLength(published);
  const said = results.map(({ body }) => `${body["session_id"]} ${body["id"]}`);
  expect(new Set(said).size).toBe(published);
  expect(results.map(({ body }) => body["payload"])).toEqual(said.map((text) => ({ text })));
});
