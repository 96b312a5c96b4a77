import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { component } from "../support/cluster/components.ts";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator, WORK_TRACEPARENT } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { SeedAgent } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

/** The step of a turn after which the relay is killed, and the number of requests that the agent gets then. */
const POINTS: readonly (readonly [point: string, asked: number])[] = [
  ["claimed", 1],
  ["pulled", 1],
  ["prompted", 1],
  ["asked", 2],
  ["answered", 1],
  ["published", 1],
  ["done", 1],
  ["acked", 1],
];

const ANSWER = {
  role: "assistant",
  content: [
    { type: "text", text: "I look." },
    { type: "tool_use", name: "bash", id: "tool_1", input: { command: "ls" } },
  ],
};

for (const [name, program] of [
  ["the oldest server", oldestNats],
  ["the newest server", newest],
] as const) {
  describe(`a relay that is killed, on ${name}`, () => {
    let nats: NatsServer;
    let survivor: RelayProcess;
    let coordinator: Coordinator;
    let missing: string | undefined;

    beforeAll(async () => {
      const found = await program();
      if (typeof found !== "string") {
        missing = found.missing;
        return;
      }
      nats = await NatsServer.start(found);
      survivor = await RelayProcess.start(nats.url);
      coordinator = await Coordinator.connect(nats);
    });
    afterAll(async () => {
      await coordinator?.[Symbol.asyncDispose]();
      await survivor?.[Symbol.asyncDispose]();
      await nats?.[Symbol.asyncDispose]();
    });

    it.concurrent.each(POINTS)("after %s leaves its work answered once", async (point, asked) => {
      if (missing !== undefined) return skipOrFail(missing);
      const session = `crash-${point}`;
      await using doomed = await RelayProcess.start(nats.url, { env: { GT_RELAY_CRASH_AT: point } });
      const requests: unknown[] = [];
      const answer = ({ id }: Readonly<Record<string, unknown>>) => {
        requests.push(id);
        return ANSWER;
      };
      using first = SeedAgent.begin(await doomed.url(), { session });
      first.answer = answer;
      await coordinator.work(session, { id: "w1", type: "work.coding", payload: { task: "look" } });
      await doomed.exited();
      expect(doomed.child.signalCode).toBe("SIGKILL");
      // It answers from its first request on, which may come right after the first frame.
      using second = SeedAgent.begin(await survivor.url(), { session });
      second.answer = answer;
      await coordinator.work(session, { id: "w2", type: "work.coding", payload: { task: "look again" } });
      const results = await coordinator.results(session, 4);
      await until("the lane's work to be settled", 60_000, async () => {
        const left = await coordinator.stored("RELAY_WORK", `sessions.${session}.work.coding`);
        return left.length === 0 || undefined;
      });
      expect(results.map(({ body }) => [body["id"], body["type"], body["part"]])).toEqual([
        ["w1", "result.partial", 1],
        ["w1", "tool_use", 2],
        ["w2", "result.partial", 1],
        ["w2", "tool_use", 2],
      ]);
      expect(new Set(results.map((result) => result.header("traceparent")))).toEqual(new Set([WORK_TRACEPARENT]));
      expect(await coordinator.stored("RELAY_RESULTS", `sessions.${session}.results.coding`)).toHaveLength(4);
      const times = requests.filter((id) => id === "w1").length;
      expect(times).toBeGreaterThanOrEqual(1);
      expect(times).toBeLessThanOrEqual(Math.max(asked, point === "asked" ? 2 : 1));
    });
  });
}

async function newest(): Promise<string | { readonly missing: string }> {
  const found = await component("nats-server");
  return "path" in found ? found.path : found;
}

function skipOrFail(missing: string): void {
  if (process.env["CI"] === "true") throw new Error(missing);
}
