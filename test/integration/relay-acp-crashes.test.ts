import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Slots } from "../../internal/base/slots.ts";
import { NatsServer, newestNats, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { SeedAgent } from "../support/relay/seed-agent.ts";

const AGENT = fileURLToPath(new URL("../fakes/acp-agent-main.ts", import.meta.url));
const TIMES = { timeout: 600_000 };

/**
 * The step of a turn after which the relay is killed, the outcome of the work, and how often an agent may receive it.
 */
const POINTS: readonly (readonly [point: string, outcome: "done" | "uncertain", least: number, most: number])[] = [
  ["claimed", "done", 1, 1],
  ["pulled", "done", 1, 1],
  ["prompted", "uncertain", 0, 0],
  ["asked", "uncertain", 0, 1],
  ["answered", "done", 1, 1],
  ["published", "done", 1, 1],
  ["done", "done", 1, 1],
  ["acked", "done", 1, 1],
];

let folder: string;
const starting = new Slots(2);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-acp-crashes-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const task = (id: string, role: string) => ({ id, type: `work.${role}`, payload: { task: id } });

/** The outcome of both works, and how often an agent received the first. */
async function outcome(coordinator: Coordinator, session: string, role: string, prompts: readonly string[]) {
  const results = await coordinator.results(session, 2, role);
  const said = results.map(({ body }) => {
    const { text, reason } = body["payload"] as { readonly text?: string; readonly reason?: string };
    return [body["id"], reason ?? text];
  });
  return { said, asked: prompts.filter((text) => text === "w1").length };
}

function judge(
  [, wanted, least, most]: (typeof POINTS)[number],
  { said, asked }: Awaited<ReturnType<typeof outcome>>,
): void {
  const first = wanted === "done" ? expect.stringMatching(/: w1$/) : "uncertain";
  expect(said).toEqual([
    ["w1", first],
    ["w2", expect.stringMatching(/: w2$/)],
  ]);
  expect(asked).toBeGreaterThanOrEqual(least);
  expect(asked).toBeLessThanOrEqual(most);
}

/** An ACP agent's socket that answers everything at once. */
function dialled(url: string, session: string, prompts: string[]): SeedAgent {
  const agent = SeedAgent.begin(url, { session, protocols: ["acp.v1"] });
  agent.answer = ({ method, params }) => {
    if (method === "initialize") return { protocolVersion: 1, agentCapabilities: {} };
    if (method !== "session/prompt") return { sessionId: "s-1" };
    const { prompt } = params as { readonly prompt: readonly { readonly text: string }[] };
    const text = prompt[0]?.text ?? "";
    prompts.push(text);
    const content = { type: "text", text: `answer: ${text}` };
    const update = { sessionUpdate: "agent_message_chunk", content };
    agent.send({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s-1", update } });
    return { stopReason: "end_turn" };
  };
  return agent;
}

async function killedAt(
  point: string,
  nats: NatsServer,
  args: readonly string[],
  use: (doomed: RelayProcess) => unknown,
) {
  await using doomed = await starting.hold(
    () => RelayProcess.start(nats.url, { args, env: { GT_RELAY_CRASH_AT: point } }),
    new AbortController().signal,
  );
  await use(doomed);
  await doomed.exited();
  expect(doomed.child.signalCode).toBe("SIGKILL");
}

describe.concurrent.each([
  ["oldest", () => oldestNats()],
  ["newest", newestNats],
] as const)("a relay that is killed, on the %s server", (name, program) => {
  it("leaves each work of a child agent done once, or uncertain", TIMES, async (context) => {
    await using nats = await NatsServer.start(await program(context));
    await using coordinator = await Coordinator.connect(nats);
    const log = (role: string) => join(folder, `${name}-${role}.log`);
    const child = (role: string) => ({
      ...{ link: "stdio", command: [process.execPath, AGENT], repo_path: folder, env: { ACP_AGENT_LOG: log(role) } },
    });
    const args = async (roles: readonly string[]) => {
      const file = join(folder, `${name}-${roles.length}-${roles[0]}.yaml`);
      const config = { turns: { create_timeout: "10m" }, roles: Object.fromEntries(roles.map((r) => [r, child(r)])) };
      await writeFile(file, JSON.stringify(config));
      return ["--config", file];
    };
    const roles = POINTS.map(([point]) => point);
    await Promise.all(
      roles.map(async (role) =>
        killedAt(role, nats, await args([role]), () => coordinator.work("s", task("w1", role), { role })),
      ),
    );
    await using survivor = await RelayProcess.start(nats.url, { args: await args(roles) });
    for (const role of roles) await coordinator.work("s", task("w2", role), { role });
    for (const point of POINTS) {
      const [role] = point;
      await coordinator.results("s", 2, role);
      const prompts = existsSync(log(role)) ? (await readFile(log(role), "utf8")).trim().split("\n") : [];
      judge(point, await outcome(coordinator, "s", role, prompts));
    }
    await coordinator.allSettled();
    expect(await survivor.stop()).toBe(0);
  });

  it("leaves each work of a dialled-in agent done once, or uncertain", TIMES, async (context) => {
    await using nats = await NatsServer.start(await program(context));
    await using coordinator = await Coordinator.connect(nats);
    await using survivor = await RelayProcess.start(nats.url);
    await Promise.all(
      POINTS.map(async (point) => {
        const [session] = point;
        const prompts: string[] = [];
        await killedAt(session, nats, [], async (doomed) => {
          dialled(await doomed.url(), session, prompts);
          await coordinator.work(session, task("w1", "coding"));
        });
        using _ = dialled(await survivor.url(), session, prompts);
        await coordinator.work(session, task("w2", "coding"));
        judge(point, await outcome(coordinator, session, "coding", prompts));
      }),
    );
    await coordinator.allSettled();
  });
});
