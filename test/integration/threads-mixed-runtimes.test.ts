import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { SessionSpawner } from "../../internal/threads/domain/runtimes.ts";
import { ThreadsGround } from "../support/threads/threads-ground.ts";
import { WakeSeat } from "../support/threads/wake-seat.ts";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

let ground: ThreadsGround;
beforeAll(async () => {
  ground = await ThreadsGround.start();
});
afterAll(async () => {
  await ground?.[Symbol.asyncDispose]();
});

/** The agent as a server with sidecars and one with a bridge see it: `has` has its session, the other none. */
function seats(agent: string, has: "sidecar" | "bridge") {
  const started: string[] = [];
  const starter: SessionSpawner = {
    canResume: async () => true,
    start: async (_, { sessionId }) => void started.push(sessionId),
    lastReceipt: async () => undefined,
  };
  const [local, bridged] = [new WakeSeat(ground, agent), new WakeSeat(ground, agent)];
  bridged.starter = starter;
  const [own, other] = has === "sidecar" ? [local, bridged] : [bridged, local];
  own.outcome = "submitted";
  other.isLive = false;
  return { own, other, started };
}

const reads = () => ground.service.store.reads("default");
const newest = async (agent: string) => (await reads().wakes({ agent, limit: 1 }))[0];

/** An agent that was woken once, with a second message. */
async function woken(agent: string, has: "sidecar" | "bridge") {
  const both = seats(agent, has);
  await ground.message(agent, "the first");
  await ground.wait("1 second");
  await both.own.work();
  await ground.message(agent, "the second");
  await ground.wait("1 second");
  return both;
}

it.each(["sidecar", "bridge"] as const)(
  "a wake of an agent with a %s is worked on by its servers alone",
  async (has) => {
    const agent = `idle-${has}`;
    const { own, other, started } = await woken(agent, has);
    await expect(other.work()).rejects.toThrow("no wake that is due");
    await ground.wait("11 seconds");
    await other.work();
    expect(await newest(agent)).toMatchObject({ state: "CLAIMED", blockedBy: "" });
    await expect(other.work()).rejects.toThrow("no wake that is due");
    await own.work();
    expect(await newest(agent)).toMatchObject({ state: "SUBMITTED" });
    expect([own.asked.length, other.asked.length, started]).toEqual([2, 0, []]);
  },
);

it.each(["sidecar", "bridge"] as const)(
  "an attempt at a %s whose server was killed is left to its servers",
  async (has) => {
    const agent = `killed-${has}`;
    const { own, other, started } = await woken(agent, has);
    const claimed = (await ground.wakes.claim("gone", 1000, has)).find(({ wake }) => wake.agentId === agent);
    if (claimed === undefined) throw new Error("there is no wake");
    const requestId = `w-${claimed.wake.wakeId}-1`;
    const intent = { attempt: 1, requestId, sessionId: own.sessionId, epoch: "e", text: "[threads]", upto: {} };
    await ground.wakes.begin(claimed, "gone", intent);
    await ground.wait("42 seconds");
    await other.work();
    expect(await reads().attempts(claimed.wake.wakeId)).toMatchObject([{ outcome: undefined }]);
    await own.work();
    expect(await reads().attempts(claimed.wake.wakeId)).toMatchObject([{ requestId, outcome: "submitted" }]);
    expect(started).toEqual([]);
  },
);

it("a session that a killed server began to start at its bridge is left to the servers of the bridge", async () => {
  const agent = "starting";
  const { other } = seats(agent, "bridge");
  await ground.message(agent);
  await ground.wait("1 second");
  const claimed = (await ground.wakes.claim("gone", 1000, "bridge")).find(({ wake }) => wake.agentId === agent);
  if (claimed === undefined) throw new Error("there is no wake");
  const requestId = `w-${claimed.wake.wakeId}-1`;
  const intent = {
    attempt: 1,
    kind: "resume",
    requestId,
    sessionId: requestId,
    epoch: "",
    text: "",
    upto: {},
  } as const;
  await ground.wakes.begin(claimed, "gone", intent);
  await ground.wait("42 seconds");
  await other.work();
  expect(await reads().attempts(claimed.wake.wakeId)).toMatchObject([{ outcome: undefined }]);
  expect(await newest(agent)).toMatchObject({ state: "CLAIMED", blockedBy: "" });
});
