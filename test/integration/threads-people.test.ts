import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { postMessage } from "../../internal/threads/service/post.ts";
import { acknowledge, readMessages } from "../../internal/threads/service/read.ts";
import { tellPeople } from "../../internal/threads/service/tell-people.ts";
import { triggerParticipant } from "../../internal/threads/service/trigger.ts";
import { remindAgents } from "../../internal/threads/wake/remind.ts";
import { eventually } from "../support/eventually.ts";
import { ThreadsGround } from "../support/threads/threads-ground.ts";
import { WakeSeat } from "../support/threads/wake-seat.ts";

const LONG = AbortSignal.timeout(900_000);

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

let ground: ThreadsGround;
beforeAll(async () => {
  ground = await ThreadsGround.start();
  await ground.service.store.write("default", (tx) => tx.savePolicy({ orchestrator: "lead" }));
});
afterAll(async () => {
  await ground?.[Symbol.asyncDispose]();
});

const reads = () => ground.service.store.reads("default");
const wakeOf = async (agent: string) => (await reads().wakes({ agent, limit: 1 }))[0];
const stateOf = async (agent: string) => (await ground.wakesOf(agent)).map(({ state }) => state);
/** The system's events in a thread. */
const said = async (thread: string) =>
  (await reads().lastMessages(thread, 50)).filter(({ kind }) => kind === "system").map((one) => one.eventType);
const escalated = async (threadId: string) =>
  (await reads().escalations({ limit: 500 }))
    .filter((one) => one.threadId === threadId)
    .map(({ cause, owner, state }) => ({ cause, owner, state }));

/** Posts a message for an agent, whose wake becomes due. */
async function wanted(agent: string) {
  const seat = new WakeSeat(ground, agent);
  const thread = await ground.message(agent);
  await ground.wait("1 second");
  return { seat, thread };
}

describe("a wake that cannot be typed safely", () => {
  it("fails, and is escalated once", async () => {
    const { seat, thread } = await wanted("unsafe");
    seat.outcome = "unsafe";
    await seat.work();
    expect(await stateOf("unsafe")).toEqual(["FAILED"]);
    await Promise.all([tellPeople(ground.service), tellPeople(ground.service)]);
    await tellPeople(ground.service);
    expect(await escalated(thread)).toEqual([{ cause: "wake_failed", owner: "lead", state: "open" }]);
    expect(await said(thread)).toEqual(["wake_failed", "escalated"]);
    expect((await wakeOf("lead"))?.state).toBe("PENDING");
  });
});

describe("a message that an agent got and does not acknowledge", () => {
  const look = async (seat: WakeSeat) => {
    await ground.wait("121 seconds");
    await remindAgents(seat.deps, LONG);
  };
  const read = (agent: string, thread_id: string) =>
    readMessages(ground.service, ground.caller(agent), { thread_id }, LONG);

  it.each([
    ["returned", true],
    ["named by a wake alone", false],
  ])("is repeated after two minutes, twice, and then escalated: %s", async (_, isRead) => {
    const agent = `forgets-${isRead}`;
    const { seat, thread } = await wanted(agent);
    seat.outcome = "submitted";
    await seat.work();
    const state = isRead ? "ACKED" : "SUBMITTED";
    if (isRead) await read(agent, thread);
    await remindAgents(seat.deps, LONG);
    expect(await stateOf(agent)).toEqual([state]);
    for (let times = 1; times <= 2; times++) {
      await look(seat);
      expect((await ground.wakesOf(agent)).at(-1)).toEqual({ state: "PENDING", reason: "not acknowledged" });
      expect(await reads().waiting(agent)).toMatchObject([{ threadId: thread, count: 1, upto: 1 }]);
      await seat.work();
      // An earlier read of the message does not count as a sign of life.
      expect((await stateOf(agent)).at(-1)).toBe("SUBMITTED");
    }
    await look(seat);
    expect(seat.asked).toHaveLength(3);
    await Promise.all([tellPeople(ground.service), tellPeople(ground.service)]);
    expect(await escalated(thread)).toEqual([{ cause: "not_acknowledged", owner: "operators", state: "open" }]);
    await look(seat);
    await tellPeople(ground.service);
    expect(await stateOf(agent)).toHaveLength(3);
    expect(await said(thread)).toEqual(["escalated"]);
  });

  it.each([
    ["at work", { state: "busy", stateSince: 0 }],
    ["idle for less", { state: "idle", stateSince: Date.now() + 3_600_000 }],
  ])("is not repeated while its agent is %s", async (name, status) => {
    const agent = `busy-${name.length}`;
    const { seat, thread } = await wanted(agent);
    seat.outcome = "submitted";
    await seat.work();
    await read(agent, thread);
    const idle = seat.status;
    seat.status = { ...idle, ...status };
    await look(seat);
    expect(await stateOf(agent)).toEqual(["ACKED"]);
    seat.status = idle;
    await look(seat);
    expect(await stateOf(agent)).toEqual(["ACKED", "PENDING"]);
  });

  it.each(["acknowledged", "read again"])("is no longer repeated once it is %s", async (how) => {
    const agent = `returns-${how.length}`;
    const { seat, thread } = await wanted(agent);
    seat.outcome = "submitted";
    await seat.work();
    await read(agent, thread);
    await look(seat);
    if (how === "acknowledged") await acknowledge(ground.service, ground.caller(agent), { thread_id: thread, seq: 1 });
    else expect((await read(agent, thread)).messages).toHaveLength(1);
    expect(await reads().waiting(agent)).toEqual([]);
    await seat.work();
    expect(await stateOf(agent)).toEqual(["ACKED", "CANCELLED"]);
    await look(seat);
    expect(await stateOf(agent)).toHaveLength(how === "acknowledged" ? 2 : 3);
  });
});

describe("a person at the keys", () => {
  it("causes a wake to be withdrawn after a minute and reported once, and the text arrives after the quiet time", async () => {
    const { seat, thread } = await wanted("typing");
    const idle = seat.status;
    seat.status = { ...idle, personInputAt: Date.now() + 3_600_000 };
    const running = seat.work();
    await eventually("the wake is queued", async () => (await wakeOf("typing"))?.blockedBy === "person");
    await ground.wait("55 seconds");
    seat.status = { ...seat.status, draft: true };
    await eventually("the wake waits for a draft", async () => (await wakeOf("typing"))?.blockedBy === "draft");
    expect((await wakeOf("typing"))?.state).toBe("QUEUED");
    await ground.wait("6 seconds");
    await running;
    expect(await wakeOf("typing")).toMatchObject({ state: "DEFERRED", blockedBy: "person", news: ["deferred"] });
    expect(seat.takenBack).toHaveLength(1);
    await Promise.all([tellPeople(ground.service), tellPeople(ground.service)]);
    expect(await said(thread)).toEqual(["wake_deferred"]);
    expect((await reads().waiting("lead")).map((one) => one.threadId)).toContain(thread);
    for (const draft of [true, false]) {
      seat.status = { ...seat.status, draft };
      await ground.wait("6 seconds");
      await seat.work();
      expect(await wakeOf("typing")).toMatchObject({ state: "DEFERRED", blockedBy: draft ? "draft" : "person" });
    }
    expect(seat.asked).toHaveLength(1);
    await tellPeople(ground.service);
    expect(await said(thread)).toHaveLength(1);
    seat.status = idle;
    seat.outcome = "submitted";
    await ground.wait("6 seconds");
    await seat.work();
    expect(await stateOf("typing")).toEqual(["SUBMITTED"]);
    expect(seat.asked.map((one) => one.requestId.slice(-2))).toEqual(["-1", "-2"]);
  });
});

describe("a wake that interrupts", () => {
  it("is queued after it has met a draft", async () => {
    const { seat, thread } = await wanted("drafts");
    const lead = ground.caller("lead", "orchestrator");
    await postMessage(ground.service, lead, { thread_id: thread, text: "now", urgency: "interrupt" });
    seat.outcome = "composer-busy";
    await seat.work();
    expect(await wakeOf("drafts")).toMatchObject({ state: "DEFERRED", blockedBy: "draft" });
    seat.outcome = "submitted";
    await ground.wait("6 seconds");
    await seat.work();
    expect(seat.asked.map((one) => one.immediate)).toEqual([true, false]);
  });
});

describe("a wake that an operator forces", () => {
  const force = (thread: string, agent: string) => {
    const operator = { ...ground.caller("someone", "operator"), kind: "person" as const };
    const wanted = { thread_id: thread, agent_id: agent, reason: "the build is red", force: true };
    return triggerParticipant(ground.service, operator, wanted, LONG);
  };
  /**
   * A wake that a person's recent keys block. `held`: the sidecar still holds it; otherwise it was taken back after a
   * minute.
   */
  async function blocked(agent: string, held: boolean) {
    const { seat, thread } = await wanted(agent);
    seat.status = { ...seat.status, personInputAt: Date.now() + 3_600_000 };
    const running = seat.work();
    await eventually("the wake is queued", async () => (await wakeOf(agent))?.blockedBy === "person");
    if (!held) {
      await ground.wait("61 seconds");
      await running;
    }
    return { seat, thread, running };
  }

  it.each([true, false])(
    "is typed at once despite a person's recent keys, unless the sidecar holds it: %s",
    async (held) => {
      const agent = `forced-${held}`;
      const { seat, thread, running } = await blocked(agent, held);
      const forcing = force(thread, agent);
      await eventually("it is forced", async () => (await wakeOf(agent))?.force === true);
      await running;
      seat.outcome = "submitted";
      await seat.work();
      expect(await forcing).toMatchObject({ state: "SUBMITTED", outcome: "submitted" });
      expect(seat.takenBack).toHaveLength(1);
      expect(seat.asked.map(({ immediate, quietMs }) => [immediate, quietMs])).toEqual([
        [false, 20_000],
        [true, 0],
      ]);
    },
  );

  it.each([
    ["composer-busy", "draft"],
    ["blocked-by-dialog", "dialog"],
  ] as const)("is refused by %s, and continues without force", async (outcome, by) => {
    const agent = `collides-${by}`;
    const { seat, thread } = await wanted(agent);
    seat.outcome = outcome;
    const forcing = force(thread, agent).catch((err: unknown) => err);
    await eventually("it is forced", async () => (await wakeOf(agent))?.force === true);
    await seat.work();
    const details = { code: "HUMAN_INPUT_COLLISION", state: "DEFERRED", blocked_by: by };
    expect(await forcing).toMatchObject({ fields: details });
    expect(await wakeOf(agent)).toMatchObject({ state: "DEFERRED", blockedBy: by, force: false });
    seat.outcome = "submitted";
    await ground.wait("6 seconds");
    await seat.work();
    expect(seat.asked.map(({ immediate, quietMs }) => [immediate, quietMs])).toEqual([
      [true, 0],
      [false, 20_000],
    ]);
    const audited = "select actor, detail from threads.audit where action = 'forced_wake' and thread_id = $1";
    expect(await ground.database.query(audited, [thread])).toEqual([
      { actor: "someone", detail: { agent_id: agent, reason: "the build is red" } },
    ]);
  });
});

describe("a dialog", () => {
  it("is escalated to people once after a minute, and the wake stays with the sidecar", async () => {
    const { seat, thread } = await wanted("asked");
    seat.status = { ...seat.status, state: "dialog", dialogTitle: "Trust\u001b[31m this\nfolder?" };
    const running = seat.work();
    await eventually("the wake is queued", async () => (await wakeOf("asked"))?.blockedBy === "dialog");
    await ground.wait("61 seconds");
    await eventually("it is to be reported", async () => (await wakeOf("asked"))?.news.includes("dialog") ?? false);
    await Promise.all([tellPeople(ground.service), tellPeople(ground.service)]);
    await tellPeople(ground.service);
    expect(await said(thread)).toEqual(["status_changed", "escalated"]);
    expect(await escalated(thread)).toEqual([{ cause: "needs_human", owner: "lead", state: "open" }]);
    expect(await reads().thread(thread)).toMatchObject({ needsHumanDecision: true });
    const [found] = (await reads().escalations({ limit: 500 })).filter((one) => one.threadId === thread);
    expect(found?.reason).toContain('"Trust this folder?"');
    expect(seat.takenBack).toEqual([]);
    seat.outcome = "submitted";
    await running;
    expect(await stateOf("asked")).toEqual(["SUBMITTED"]);
  });
});
