import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";

const PATIENCE_MS = 240_000;
const HOUR_MS = 3_600_000;

/** Sets a program's wall clock ahead or back, and to the other side at each SIGUSR2. */
const WRONG_CLOCK = `
  const now = Date.now;
  let offset = Number(process.env.WRONG_BY_MS);
  Date.now = () => now() + offset;
  process.on("SIGUSR2", () => { offset = -offset; });
`;

let folder: string;
let nats: NatsServer;
let coordinator: Coordinator;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-clocks-"));
  await writeFile(join(folder, "wrong-clock.mjs"), WRONG_CLOCK);
  nats = await NatsServer.start(await oldestNats());
  coordinator = await Coordinator.connect(nats);
});
afterAll(async () => {
  await coordinator?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function wrongBy(ms: number): Promise<RelayProcess> {
  const env = { NODE_OPTIONS: `--import ${join(folder, "wrong-clock.mjs")}`, WRONG_BY_MS: String(ms) };
  return RelayProcess.start(nats.url, { env });
}

/** The relay's wall clock, as it tells its agents. */
function wallClockOf({ frames }: SeedAgent): number {
  return Date.parse(String(frames[0]?.value["timestamp"]));
}

const task = (id: string) => ({ id, type: "work.coding", payload: { task: `task ${id}` } });

it("turns end once each at either relay although the relays' clocks differ by two hours and jump", {
  timeout: PATIENCE_MS,
}, async () => {
  await using ahead = await wrongBy(HOUR_MS);
  await using behind = await wrongBy(-HOUR_MS);
  const urls = [await ahead.url(), await behind.url()];
  let agent = await SeedAgent.dial(urls[0] as string, { session: "clocks" });
  for (let round = 0; round < 4; round++) {
    const [id, jumping] = [`w${round}`, round % 2 === 0 ? ahead : behind];
    const before = agent.requests.length;
    await coordinator.work("clocks", task(id));
    await agent.request(before + 1);
    jumping.child.kill("SIGUSR2");
    agent[Symbol.dispose]();
    agent = await SeedAgent.dial(urls[(round + 1) % 2] as string, { session: "clocks" });
    expect(Math.abs(wallClockOf(agent) - Date.now())).toBeGreaterThan(HOUR_MS / 2);
    expect((await agent.request(1)).value["id"]).toBe(id);
    agent.reply(id, textResult(`done ${id}`));
    await coordinator.results("clocks", round + 1);
  }
  agent[Symbol.dispose]();
  await coordinator.allSettled();
  const results = await coordinator.results("clocks", 4);
  expect(results.map(({ body }) => [body["id"], body["payload"]])).toEqual(
    [0, 1, 2, 3].map((round) => [`w${round}`, { text: `done w${round}` }]),
  );
  expect(await coordinator.stored("RELAY_DEAD", "sessions.clocks.dead.coding")).toEqual([]);
});
