import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { createLogger } from "../../internal/base/logger.ts";
import type { Runtime, RuntimeStatus } from "../../internal/threads/domain/runtimes.ts";
import { SECOND_LOOK } from "../../internal/threads/domain/second-look.ts";
import type { ClaimedWake } from "../../internal/threads/domain/wake-store.ts";
import { postMessage } from "../../internal/threads/service/post.ts";
import { acknowledge, readMessages } from "../../internal/threads/service/read.ts";
import { lookAgain } from "../../internal/threads/wake/second-look.ts";
import { ThreadsGround } from "../support/threads/threads-ground.ts";

const BY = "worker";
const LONG = AbortSignal.timeout(900_000);

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

let ground: ThreadsGround;
beforeAll(async () => {
  ground = await ThreadsGround.start();
});
afterAll(async () => {
  await ground?.[Symbol.asyncDispose]();
});

/** The wake of an agent for one message, whose text is about to be typed. */
async function typed(agent: string) {
  return await typing(agent, await ground.message(agent));
}

async function typing(agent: string, thread: string) {
  await ground.wait("1 second");
  const claimed = (await ground.wakes.claim(BY, 10, "sidecar")).find(
    ({ wake }) => wake.agentId === agent,
  ) as ClaimedWake;
  const requestId = `w-${claimed.wake.wakeId}-1`;
  const intent = { attempt: 1, requestId, sessionId: "s", epoch: "e", text: "[threads]", upto: { [thread]: 1 } };
  await ground.wakes.begin(claimed, BY, intent);
  const ended = (outcome: "submitted" | "unknown", typedMs?: number) =>
    ground.wakes.finish(claimed, BY, {
      ...{ state: outcome === "submitted" ? "SUBMITTED" : "UNKNOWN", outcome, offered: intent.upto, againMs: 60_000 },
      attempt: { attempt: 1, receipt: { outcome, error: "", evidence: [], typedMs } },
    });
  return { thread, ended, sendAgain: () => ground.wakes.sendAgain(claimed, BY, 1) };
}

const read = (agent: string, thread_id: string, more = {}) =>
  readMessages(ground.service, ground.caller(agent), { thread_id, ...more }, LONG);
const post = (agent: string, thread_id: string) =>
  postMessage(ground.service, ground.caller(agent), { thread_id, text: "done" });
const stateOf = async (agent: string) => (await ground.wakesOf(agent)).map(({ state }) => state);

/** Sidecars that report an idle agent, or the status that the test gives. */
async function look(status: Partial<RuntimeStatus> = {}): Promise<void> {
  const given = { alive: true, state: "idle", epoch: "e", draft: false, ...status };
  const runtime = { status: async () => given, [Symbol.asyncDispose]: async () => {} } as unknown as Runtime;
  const { store, changes } = ground.service;
  const logger = createLogger("test", "silent");
  const runtimes = { kind: "sidecar", find: async () => runtime } as const;
  await lookAgain({ clock: systemClock, logger, store, changes, wakes: ground.wakes, runtimes }, LONG);
}

describe("a wake with an unknown outcome", () => {
  const again = { state: "PENDING", reason: SECOND_LOOK };
  const unknown = expect.objectContaining({ state: "UNKNOWN" });

  it("is retried once after a minute with the same messages", async () => {
    const { thread, ended } = await typed("doubt");
    await ended("unknown");
    await ground.wait("55 seconds");
    await look();
    expect(await ground.wakesOf("doubt")).toEqual([unknown]);
    await ground.wait("6 seconds");
    await look();
    expect(await ground.wakesOf("doubt")).toEqual([unknown, again]);
    const waiting = await ground.service.store.reads("default").waiting("doubt");
    expect(waiting).toMatchObject([{ threadId: thread, count: 1, upto: 1 }]);
    await (await typing("doubt", thread)).ended("unknown");
    await ground.wait("10 minutes");
    await look();
    expect(await stateOf("doubt")).toEqual(["UNKNOWN", "UNKNOWN"]);
    await read("doubt", thread);
    expect(await stateOf("doubt")).toEqual(["ACKED", "ACKED"]);
  });

  it("is not retried when its messages have been read", async () => {
    const { thread, ended } = await typed("has-read");
    await ended("unknown");
    await read("has-read", thread);
    await ground.wait("61 seconds");
    await look();
    expect(await stateOf("has-read")).toEqual(["ACKED"]);
  });

  it.each([
    ["a draft", { draft: true }],
    ["a busy agent", { state: "busy" }],
  ])("waits for %s to pass, and is then retried", async (name, status) => {
    const agent = `before-${name.length}`;
    const { ended } = await typed(agent);
    await ended("unknown");
    await ground.wait("61 seconds");
    await look(status);
    expect(await ground.wakesOf(agent)).toEqual([unknown]);
    await ground.wait("61 seconds");
    await look();
    expect(await ground.wakesOf(agent)).toEqual([unknown, again]);
  });
});

describe("an agent's sign of life", () => {
  it.each(["submitted", "unknown"] as const)("counts before the wake's receipt (%s) is known", async (outcome) => {
    const agent = `quick-${outcome}`;
    const { thread, ended } = await typed(agent);
    await read(agent, thread);
    await acknowledge(ground.service, ground.caller(agent), { thread_id: thread, seq: 1 });
    await ended(outcome);
    expect(await stateOf(agent)).toEqual(["ACKED"]);
  });

  it("may be a post after an earlier read", async () => {
    const { thread, ended } = await typed("poster");
    await read("poster", thread);
    await post("poster", thread);
    await ended("submitted");
    expect(await stateOf("poster")).toEqual(["ACKED"]);
  });

  it.each(["submitted", "unknown"] as const)(
    "may be a post without a read, before the receipt (%s) is known",
    async (outcome) => {
      const agent = `blind-${outcome}`;
      const { thread, ended } = await typed(agent);
      await post(agent, thread);
      expect(await stateOf(agent)).toEqual(["CLAIMED"]);
      await ended(outcome, 0);
      expect(await stateOf(agent)).toEqual(["ACKED"]);
    },
  );

  it("may be a post that is not yet committed when the receipt arrives", async () => {
    const { ended } = await typed("late");
    const { promise: ending, resolve } = Promise.withResolvers<unknown>();
    await ground.service.store.write("default", async (tx) => {
      await tx.acknowledgeWakes("late");
      resolve(ended("submitted", 0));
      const waits =
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'update threads.wake%'";
      await vi.waitUntil(async () => (await ground.database.query(waits)).length > 0, { timeout: 60_000 });
    });
    await ending;
    expect(await stateOf("late")).toEqual(["ACKED"]);
  });

  it.each([
    ["a post from before its text was typed", 3_600_000],
    ["a post by an agent whose text may not have been typed", undefined],
  ])("is not %s", async (name, typedMs) => {
    const agent = `before-typed-${name.length}`;
    const { thread, ended } = await typed(agent);
    await post(agent, thread);
    await ended("submitted", typedMs);
    expect(await stateOf(agent)).toEqual(["SUBMITTED"]);
  });

  it("is not a post from before its text was sent again", async () => {
    const { thread, ended, sendAgain } = await typed("twice");
    await post("twice", thread);
    expect(await sendAgain()).toBe(true);
    await ended("submitted", 0);
    expect(await stateOf("twice")).toEqual(["SUBMITTED"]);
  });

  it("is missing while it has read only a part of the named messages", async () => {
    const { ended } = await typed("slow");
    await ended("submitted");
    expect(await stateOf("slow")).toEqual(["SUBMITTED"]);
  });

  it.each([
    ["that brings nothing new", {}],
    ["with a filter", { sender: "lead" }],
  ])("may be a read %s", async (name, more) => {
    const agent = `reader-${name.length}`;
    const { thread, ended } = await typed(agent);
    await ended("submitted");
    await read(agent, thread, { after_seq: 1, ...more });
    expect(await stateOf(agent)).toEqual(["ACKED"]);
  });
});
