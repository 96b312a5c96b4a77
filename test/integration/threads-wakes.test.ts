import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ClaimedWake } from "../../internal/threads/domain/wake-store.ts";
import { postMessage } from "../../internal/threads/service/post.ts";
import { acknowledge, readMessages } from "../../internal/threads/service/read.ts";
import { ThreadsGround } from "../support/threads/threads-ground.ts";

const BY = "worker";

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
  const thread = await ground.message(agent);
  await ground.wait("1 second");
  const claimed = (await ground.wakes.claim(BY, 10)).find(({ wake }) => wake.agentId === agent) as ClaimedWake;
  const requestId = `w-${claimed.wake.wakeId}-1`;
  const intent = { attempt: 1, requestId, sessionId: "s", epoch: "e", text: "[threads]", upto: { [thread]: 1 } };
  await ground.wakes.begin(claimed, BY, intent);
  const ended = (outcome: "submitted" | "unknown") =>
    ground.wakes.finish(claimed, BY, {
      ...{ state: outcome === "submitted" ? "SUBMITTED" : "UNKNOWN", outcome, offered: intent.upto },
      attempt: { attempt: 1, receipt: { outcome, error: "", evidence: [] } },
    });
  return { thread, ended };
}

const read = (agent: string, thread_id: string, more = {}) =>
  readMessages(ground.service, ground.caller(agent), { thread_id, ...more }, AbortSignal.timeout(60_000));
const stateOf = async (agent: string) => (await ground.wakesOf(agent)).map(({ state }) => state);

describe("an agent's sign of life", () => {
  it.each(["submitted", "unknown"] as const)("counts before the receipt of its wake, %s, is known", async (outcome) => {
    const agent = `quick-${outcome}`;
    const { thread, ended } = await typed(agent);
    await read(agent, thread);
    await acknowledge(ground.service, ground.caller(agent), { thread_id: thread, seq: 1 });
    await ended(outcome);
    expect(await stateOf(agent)).toEqual(["ACKED"]);
  });

  it("may be a post by one that has read before", async () => {
    const { thread, ended } = await typed("poster");
    await read("poster", thread);
    await postMessage(ground.service, ground.caller("poster"), { thread_id: thread, text: "done" });
    await ended("submitted");
    expect(await stateOf("poster")).toEqual(["ACKED"]);
  });

  it("is not there while it has read only a part of what the text names", async () => {
    const { ended } = await typed("slow");
    await ended("submitted");
    expect(await stateOf("slow")).toEqual(["SUBMITTED"]);
  });

  it.each([
    ["that brings nothing new", {}],
    ["with a filter", { sender: "lead" }],
  ])("is a read %s, too", async (name, more) => {
    const agent = `reader-${name.length}`;
    const { thread, ended } = await typed(agent);
    await ended("submitted");
    await read(agent, thread, { after_seq: 1, ...more });
    expect(await stateOf(agent)).toEqual(["ACKED"]);
  });
});
