import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { FaithfulAgent } from "../support/relay/faithful-agent.ts";
import { NatsServer, newestNats, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { textResult } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

const PATIENCE_MS = 1_200_000;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-crowd-"));
  await writeFile(join(folder, "relay.yaml"), "turns: { drain_timeout: 0s, holder_timeout: 15s }\n");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function relay(nats: NatsServer): Promise<RelayProcess> {
  return RelayProcess.start(nats.url, { args: ["--pong-timeout", "300", "--config", join(folder, "relay.yaml")] });
}

const task = (id: string) => ({ id, type: "work.coding", payload: { task: `task ${id}` } });

/** Every work of the sessions has one result, the one with its own id. */
async function oneResultEach(coordinator: Coordinator, sessions: readonly string[], ids: readonly string[]) {
  const wanted = sessions.length * ids.length;
  await until("all results", PATIENCE_MS, async () => {
    const info = await (await coordinator.js.jetstreamManager()).streams.info("RELAY_RESULTS");
    return info.state.messages >= wanted || undefined;
  });
  await until("all work to be settled", PATIENCE_MS, async () => (await coordinator.waiting()) === 0 || undefined);
  const found = await coordinator.stored("RELAY_RESULTS", "sessions.*.results.coding");
  const said = found.map(({ body }) => `${body["session_id"]} ${body["id"]} ${JSON.stringify(body["payload"])}`);
  const right = sessions.flatMap((session) => ids.map((id) => `${session} ${id} {"text":"${session} ${id}"}`));
  expect(said.sort()).toEqual(right.sort());
}

it("on SIGTERM a relay gives 100 open turns back, which continue at the other relay with one result each", {
  timeout: PATIENCE_MS,
}, async (context) => {
  await using nats = await NatsServer.start(await newestNats(context));
  await using one = await relay(nats);
  await using other = await relay(nats);
  await using coordinator = await Coordinator.connect(nats);
  let [at, isAnswering] = [await one.url(), false];
  const sessions = Array.from({ length: 100 }, (_, i) => `s${i}`);
  using stack = new DisposableStack();
  const agents = sessions.map((session) => {
    const answer = (id: string) => (isAnswering ? textResult(`${session} ${id}`) : undefined);
    return stack.use(new FaithfulAgent({ session, agent: "agent_abc", url: () => at, answer }));
  });
  await Promise.all(sessions.map((session) => coordinator.work(session, task("w1"))));
  await until("100 open turns", PATIENCE_MS, () => agents.every(({ asked }) => asked.length === 1) || undefined);
  [at, isAnswering] = [await other.url(), true];
  expect(await one.stop()).toBe(7);
  await oneResultEach(coordinator, sessions, ["w1"]);
  for (const { asked } of agents) expect(asked).toEqual(["w1", "w1"]);
});

it("500 agents that reconnect at once after their relay was killed are served once each", {
  timeout: PATIENCE_MS,
}, async () => {
  await using nats = await NatsServer.start(await oldestNats());
  await using coordinator = await Coordinator.connect(nats);
  await using one = await relay(nats);
  let at = await one.url();
  const sessions = Array.from({ length: 500 }, (_, i) => `s${i}`);
  using stack = new DisposableStack();
  for (const session of sessions) {
    const answer = (id: string) => textResult(`${session} ${id}`);
    stack.use(new FaithfulAgent({ session, agent: "agent_abc", url: () => at, answer }));
  }
  const held = async (of: RelayProcess) =>
    until("500 lanes to be held", PATIENCE_MS, async () => {
      const text = await (await of.health("/metrics")).text();
      return /^gastown_relay_lanes_held 500$/m.test(text) || undefined;
    });
  await held(one);
  one.child.kill("SIGKILL");
  await one.exited();
  await Promise.all(sessions.map((session) => coordinator.work(session, task("w1"))));
  await using other = await relay(nats);
  at = await other.url();
  await held(other);
  await Promise.all(sessions.map((session) => coordinator.work(session, task("w2"))));
  await oneResultEach(coordinator, sessions, ["w1", "w2"]);
});
