import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { DomainError } from "../../internal/base/errors.ts";
import type { SessionStart } from "../../internal/threads/domain/recovery.ts";
import type { SessionSpawner } from "../../internal/threads/domain/runtimes.ts";
import { heartbeatSession } from "../../internal/threads/service/sessions.ts";
import { tellPeople } from "../../internal/threads/service/tell-people.ts";
import { triggerParticipant } from "../../internal/threads/service/trigger.ts";
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

/** A runtime that starts sessions in place of the agent's: each lives if `lives` says so. */
class Bridge implements SessionSpawner {
  readonly seat: WakeSeat;
  readonly started: SessionStart[] = [];
  lives = true;
  resumes = true;
  failure: DomainError | undefined;

  constructor(seat: WakeSeat) {
    this.seat = seat;
    seat.starter = this;
  }

  async canResume(): Promise<boolean> {
    return this.resumes;
  }

  async start(_: string, session: SessionStart): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    if (!this.started.some((one) => one.sessionId === session.sessionId)) this.started.push(session);
    [this.seat.isLive, this.seat.sessionId] = [this.lives, session.sessionId];
  }

  async lastReceipt() {
    return undefined;
  }
}

/** An agent that was woken once by its bridge, whose session has ended since. */
async function ended(agent: string) {
  const seat = new WakeSeat(ground, agent);
  const bridge = new Bridge(seat);
  seat.status = { ...seat.status, agentSessionId: `conversation of ${agent}` };
  seat.outcome = "submitted";
  await ground.message(agent, "the first");
  await ground.wait("1 second");
  await seat.work();
  seat.isLive = false;
  const thread = await ground.message(agent, "the second");
  await ground.wait("1 second");
  return { seat, bridge, thread };
}

const wakesOf = (agent: string) => ground.service.store.reads("default").wakes({ agent, limit: 100 });
const newest = async (agent: string) => (await wakesOf(agent))[0];
async function steps(agent: string) {
  const wake = await newest(agent);
  const attempts = await ground.service.store.reads("default").attempts(wake?.wakeId ?? "");
  return attempts.map(({ kind, outcome }) => `${kind} ${outcome}`);
}
const policy = (patch: object) =>
  ground.service.store.write("default", (tx) => tx.savePolicy(patch as Readonly<Record<string, unknown>>));
const soon = () => ground.wait("31 seconds");
const template = { provider: "demo", repo_path: "/other", agent_opts: { mode: "stdio" } };

it("F8: an agent that ended is resumed under its own name, and gets its waiting messages", async () => {
  const { seat, bridge } = await ended("resumed");
  await seat.work();
  expect(await newest("resumed")).toMatchObject({ state: "DEFERRED", blockedBy: "starting" });
  await soon();
  await seat.work();
  expect(await steps("resumed")).toEqual(["resume started", "live submitted"]);
  const wakeId = (await newest("resumed"))?.wakeId;
  expect(bridge.started).toEqual([
    {
      ...{ sessionId: `w-${wakeId}-1`, provider: "demo", repoPath: "/repo" },
      agentOpts: { mode: "terminal", agent: "resumed", resume: "conversation of resumed" },
    },
  ]);
  const sessions = (await ground.service.store.reads("default").sessions()).filter((one) => one.agentId === "resumed");
  expect(sessions.map(({ sessionId, state, resumes }) => [sessionId, state, resumes]).toSorted()).toEqual([
    ["session of resumed", "ended", 0],
    [`w-${wakeId}-1`, "live", 1],
  ]);
});

it("F8: an agent is resumed twice, then spawned with a summary of its threads", async () => {
  await policy({ spawn: { worker: template } });
  const { seat, bridge, thread } = await ended("spawned");
  bridge.lives = false;
  for (const _ of [1, 2]) {
    await seat.work();
    await soon();
  }
  bridge.lives = true;
  await seat.work();
  await soon();
  await seat.work();
  expect(await steps("spawned")).toEqual(["resume started", "resume started", "spawn started", "live submitted"]);
  expect(bridge.started.at(-1)).toMatchObject({ repoPath: "/other", agentOpts: { mode: "stdio", agent: "spawned" } });
  expect(bridge.started.at(-1)?.agentOpts).not.toHaveProperty("resume");
  const text = seat.asked.at(-1)?.text ?? "";
  expect(Buffer.byteLength(text)).toBeLessThan(10_000);
  for (const part of ["You continue the work of spawned", `Thread ${thread}`, "lead: the second"]) {
    expect(text).toContain(part);
  }
  await policy({ spawn: {} });
});

it("F8: an agent with a stale conversation is spawned, not resumed", async () => {
  await policy({ spawn: { worker: template } });
  const { seat } = await ended("stale");
  await ground.wait("13 hours");
  await seat.work();
  expect(await steps("stale")).toEqual(["spawn started"]);
  await policy({ spawn: {} });
});

it("F8: for an agent that cannot be started people are informed once, and it is woken when it is back", async () => {
  const { seat, bridge, thread } = await ended("lost");
  bridge.resumes = false;
  for (const _ of [1, 2]) {
    await seat.work();
    await Promise.all([tellPeople(ground.service), tellPeople(ground.service)]);
    await soon();
  }
  expect(bridge.started).toEqual([]);
  const escalations = await ground.service.store.reads("default").escalations({ limit: 100 });
  expect(escalations.filter((one) => one.threadId === thread).map(({ cause }) => cause)).toEqual(["fallback_required"]);
  expect(await newest("lost")).toMatchObject({ state: "DEFERRED", blockedBy: "unreachable" });
  seat.isLive = true;
  await seat.work();
  expect(await steps("lost")).toEqual(["live submitted"]);
});

it("F8: unreachable is not dead, and a start whose answer is lost is repeated as the same start", async () => {
  const { seat, bridge } = await ended("away");
  seat.failure = new DomainError("unavailable", "the bridge is away");
  await seat.work();
  expect([bridge.started, await newest("away")]).toMatchObject([[], { state: "DEFERRED", blockedBy: "unreachable" }]);
  seat.failure = undefined;
  bridge.failure = new DomainError("unavailable", "the answer is lost");
  await soon();
  await seat.work();
  expect(await steps("away")).toEqual(["resume undefined"]);
  bridge.failure = undefined;
  await soon();
  await seat.work();
  expect(await steps("away")).toEqual(["resume started"]);
  expect(bridge.started).toHaveLength(1);
});

it.each(["starts", "resumes"] as const)(
  "F8: a bridge that does not answer is sent %s less and less often",
  async (what) => {
    const { seat, bridge } = await ended(`silent-${what}`);
    const away = new DomainError("unavailable", "the bridge does not answer");
    if (what === "starts") bridge.failure = away;
    else bridge.canResume = async () => Promise.reject(away);
    const waits: number[] = [];
    for (let attempt = 0; attempt < 12; attempt++) {
      await seat.work();
      const wake = await newest(seat.agent);
      expect(wake).toMatchObject({ state: "DEFERRED", blockedBy: "unreachable", attempts: what === "starts" ? 1 : 0 });
      const waitMs = (wake?.dueAt ?? 0) - (await ground.service.store.reads("default").now());
      waits.push(waitMs);
      await ground.wait(`${Math.ceil(waitMs / 1000) + 1} seconds`);
    }
    expect(waits[0]).toBeLessThan(2000);
    // With 20 % of jitter, and at most 30 s.
    expect(Math.min(...waits.slice(-3))).toBeGreaterThan(20_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(30_000);
  },
);

it("F8: a refused start counts as an attempt, and the next step follows", async () => {
  await policy({ spawn: { worker: template } });
  const { seat, bridge } = await ended("refused");
  bridge.failure = new DomainError("precondition", "the provider is not available");
  await seat.work();
  await soon();
  await seat.work();
  bridge.failure = undefined;
  await soon();
  await seat.work();
  expect(await steps("refused")).toEqual(["resume refused", "resume refused", "spawn started"]);
  await policy({ spawn: {} });
});

it("F8: an unmanaged agent continues the conversation that it has named once its program is silent", async () => {
  const seat = new WakeSeat(ground, "wanderer");
  const bridge = new Bridge(seat);
  seat.isLive = false;
  bridge.lives = false;
  const itself = ground.caller("wanderer");
  await heartbeatSession(ground.service, itself, { agent_session_id: "conversation-7" });
  const thread = await ground.message("wanderer");
  await policy({ spawn: { worker: template }, unmanaged: "refuse" });
  await ground.wait("3 minutes");
  await seat.work();
  expect([bridge.started, await newest("wanderer")]).toMatchObject([[], { blockedBy: "unreachable", attempts: 0 }]);
  const operator = { ...ground.caller("someone", "operator"), kind: "person" as const };
  const trigger = { thread_id: thread, agent_id: "wanderer", reason: "now" };
  const refused = triggerParticipant(ground.service, operator, trigger, AbortSignal.timeout(60_000));
  await expect(refused).rejects.toMatchObject({ fields: { code: "UNMANAGED_RUNTIME" } });
  await policy({ unmanaged: "resume" });
  await heartbeatSession(ground.service, { ...itself, session: "s-again" }, {});
  await soon();
  await seat.work();
  expect([bridge.started, await newest("wanderer")]).toMatchObject([[], { blockedBy: "unreachable", attempts: 0 }]);
  await ground.wait("3 minutes");
  for (const _ of [1, 2, 3]) {
    await seat.work();
    await soon();
  }
  expect(await steps("wanderer")).toEqual(["resume started", "resume started"]);
  expect(bridge.started[0]).toMatchObject({
    ...{ provider: "demo", repoPath: "/other" },
    agentOpts: { mode: "stdio", agent: "wanderer", resume: "conversation-7" },
  });
  expect(await newest("wanderer")).toMatchObject({ blockedBy: "unreachable", news: ["fallback"] });
  await policy({ spawn: {}, unmanaged: "refuse" });
});

it("F8: an agent that no runtime has confirmed is left alone, unless the policy spawns such agents", async () => {
  const seat = new WakeSeat(ground, "unmanaged");
  const bridge = new Bridge(seat);
  seat.isLive = false;
  await ground.message("unmanaged");
  await policy({ spawn: { "*": template } });
  await ground.wait("1 second");
  await seat.work();
  expect([bridge.started, await newest("unmanaged")]).toMatchObject([[], { blockedBy: "unreachable", attempts: 0 }]);
  await policy({ unmanaged: "spawn" });
  await soon();
  await seat.work();
  expect(await steps("unmanaged")).toEqual(["spawn started"]);
  await policy({ spawn: {}, unmanaged: "refuse" });
});
