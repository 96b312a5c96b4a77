import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { DomainError } from "../../internal/base/errors.ts";
import { DEFAULT_POLICY } from "../../internal/threads/domain/policy.ts";
import type { ConversationTurn, TurnRunner, WakeReceipt } from "../../internal/threads/domain/runtimes.ts";
import { readMessages } from "../../internal/threads/service/read.ts";
import { heartbeatSession } from "../../internal/threads/service/sessions.ts";
import { triggerParticipant } from "../../internal/threads/service/trigger.ts";
import { eventually } from "../support/eventually.ts";
import { ThreadsGround } from "../support/threads/threads-ground.ts";
import { WakeSeat } from "../support/threads/wake-seat.ts";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

const LONG = AbortSignal.timeout(900_000);
const EVIDENCE = [{ source: "process", value: "codex exec exited with 0", confidence: "certain" }];

let ground: ThreadsGround;
beforeAll(async () => {
  ground = await ThreadsGround.start();
  await policy({ unmanaged: "resume" });
});
afterAll(async () => {
  await ground?.[Symbol.asyncDispose]();
});

const policy = (patch: object) =>
  ground.service.store.write("default", (tx) => tx.savePolicy(patch as Readonly<Record<string, unknown>>));

/** A program of conversations; each turn does what the test says. */
class Program implements TurnRunner {
  readonly turns: ConversationTurn[] = [];
  readonly asked: string[] = [];
  isBusy = false;
  held = 0;
  turn: (turn: ConversationTurn, signal: AbortSignal) => Promise<WakeReceipt["outcome"]> = async () => "submitted";

  async take(...which: [string, string]) {
    this.asked.push(which.join(" "));
    if (this.isBusy) return "busy";
    this.held += 1;
    return {
      run: async (turn: ConversationTurn, signal: AbortSignal) => {
        this.turns.push(turn);
        const outcome = await this.turn(turn, signal);
        return { outcome, error: "", evidence: outcome === "submitted" ? EVIDENCE : [] };
      },
      [Symbol.asyncDispose]: async () => {
        this.held -= 1;
      },
    };
  }
}

/** An agent that has named its conversation but has no runtime, with a message that waits for the agent. */
async function away(agent: string) {
  const seat = new WakeSeat(ground, agent);
  const program = new Program();
  seat.runner = program;
  seat.isLive = false;
  await heartbeatSession(ground.service, ground.caller(agent), { agent_session_id: `c of ${agent}` });
  await ground.wait("3 minutes");
  const thread = await message(agent);
  return { seat, program, thread };
}

async function message(agent: string): Promise<string> {
  const thread = await ground.message(agent);
  await ground.wait("1 second");
  return thread;
}

const newest = async (agent: string) =>
  (await ground.service.store.reads("default").wakes({ agent, limit: 100 }))[0] ?? { wakeId: "" };
const attempts = async (agent: string) =>
  await ground.service.store.reads("default").attempts((await newest(agent)).wakeId);
const steps = async (agent: string) => (await attempts(agent)).map(({ kind, outcome }) => `${kind} ${outcome}`);
const named = (agentId: string) =>
  ground.wakes.conversation({ workspace: "default", wake: { agentId } }, DEFAULT_POLICY.stale_after);
const read = (agent: string, thread_id: string, session = `s-${agent}`) =>
  readMessages(ground.service, { ...ground.caller(agent), session }, { thread_id }, LONG);

it("FR-10: a conversation that nothing has open gets the wake's text in one turn, and the proof is kept", async () => {
  const { seat, program, thread } = await away("plain");
  await seat.work();
  const { wakeId } = await newest("plain");
  expect(program.asked).toEqual(["default c of plain"]);
  expect(program.turns).toEqual([
    {
      ...{ agent: "plain", role: "worker", sessionId: `w-${wakeId}-1` },
      text: expect.stringMatching(new RegExp(`^\\[threads w-${wakeId}-1\\] 1 new in "work" \\(${thread}\\)`)),
    },
  ]);
  expect(await newest("plain")).toMatchObject({ state: "SUBMITTED", lastOutcome: "submitted" });
  expect(await attempts("plain")).toMatchObject([{ kind: "resume", outcome: "submitted", evidence: EVIDENCE }]);
  expect([seat.asked, program.held]).toEqual([[], 0]);
});

it("an agent that reads in its turn has acknowledged the wake, and the next message begins another turn at once", async () => {
  const { seat, program, thread } = await away("reader");
  program.turn = async ({ sessionId }) => {
    await read("reader", thread, sessionId);
    return "submitted";
  };
  await seat.work();
  expect(await newest("reader")).toMatchObject({ state: "ACKED" });
  program.turn = async () => "unknown";
  await message("reader");
  await seat.work();
  expect(program.turns).toHaveLength(2);
  expect(await newest("reader")).toMatchObject({ state: "UNKNOWN" });
});

it("a turn that could not begin is tried once more", async () => {
  const { seat, program } = await away("late");
  program.turn = async () => "cancelled";
  for (const _ of [1, 2, 3]) {
    await seat.work();
    expect(await newest("late")).toMatchObject({ state: "DEFERRED" });
    await ground.wait("31 seconds");
  }
  expect(await steps("late")).toEqual(["resume cancelled", "resume cancelled"]);
  expect(await newest("late")).toMatchObject({ blockedBy: "unreachable" });
});

it("F4: a turn whose server ended is UNKNOWN, and is never run again", async () => {
  const { seat, program } = await away("stopped");
  const stop = new AbortController();
  program.turn = (_, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      stop.abort();
    });
  await seat.work(stop.signal);
  expect(await steps("stopped")).toEqual(["resume undefined"]);
  expect(program.held).toBe(0);
  await seat.work();
  expect(await steps("stopped")).toEqual(["resume unknown"]);
  expect([program.turns.length, program.asked.length]).toEqual([1, 1]);
  expect(await newest("stopped")).toMatchObject({ state: "UNKNOWN" });
});

it("F4: a server that ends while it renews its lease leaves the wake to others at once", async () => {
  const { seat, program } = await away("renewed");
  const { wakes } = ground;
  const renew: typeof wakes.renew = wakes.renew.bind(wakes);
  let renewing = 0;
  const slow: typeof renew = async (...claim) => {
    renewing++;
    await pause(200);
    return await renew(...claim);
  };
  const stop = new AbortController();
  program.turn = async (_, signal) => {
    await eventually("a renewal", () => renewing > 0);
    stop.abort();
    throw signal.reason;
  };
  Object.assign(wakes, { renew: slow });
  try {
    await seat.work(stop.signal);
  } finally {
    Reflect.deleteProperty(wakes, "renew");
  }
  await seat.work();
  expect(await steps("renewed")).toEqual(["resume unknown"]);
});

it("F4: a turn of a server that was killed is UNKNOWN after its lease, whether another server runs turns or not", async () => {
  for (const agent of ["killed", "orphaned"]) {
    const { seat, program, thread } = await away(agent);
    const claimed = (await ground.wakes.claim("gone", 1000, "sidecar")).find(({ wake }) => wake.agentId === agent);
    if (claimed === undefined) throw new Error("there is no wake");
    const requestId = `w-${claimed.wake.wakeId}-1`;
    const intent = { attempt: 1, requestId, sessionId: requestId, epoch: "", text: "[threads]", upto: { [thread]: 1 } };
    await ground.wakes.begin(claimed, "gone", { ...intent, kind: "resume" });
    await ground.wait("31 seconds");
    if (agent === "orphaned") seat.runner = undefined;
    await seat.work();
    expect(await steps(agent)).toEqual(["resume unknown"]);
    expect([program.asked, await newest(agent)]).toMatchObject([[], { state: "UNKNOWN" }]);
  }
});

it("FR-17: the policy refuses, the caller learns it, and nothing is run until it allows it", async () => {
  await policy({ unmanaged: "refuse" });
  const { seat, program, thread: thread_id } = await away("refused");
  await seat.work();
  expect([program.asked, await newest("refused")]).toMatchObject([[], { state: "DEFERRED", blockedBy: "unreachable" }]);
  const operator = { ...ground.caller("someone", "operator"), kind: "person" as const };
  const trigger = triggerParticipant(ground.service, operator, { thread_id, agent_id: "refused", reason: "now" }, LONG);
  await expect(trigger).rejects.toMatchObject({ fields: { code: "UNMANAGED_RUNTIME" } });
  await policy({ unmanaged: "resume" });
  await ground.wait("31 seconds");
  await seat.work();
  expect(await steps("refused")).toEqual(["resume submitted"]);
});

it("a live runtime goes first, and one that cannot be asked may be alive", async () => {
  const { seat, program } = await away("live");
  seat.failure = new DomainError("unavailable", "its sidecar restarts it");
  await seat.work();
  expect(await newest("live")).toMatchObject({ state: "DEFERRED", blockedBy: "unreachable" });
  seat.failure = undefined;
  seat.isLive = true;
  seat.outcome = "submitted";
  await ground.wait("31 seconds");
  await seat.work();
  expect([program.asked, await steps("live")]).toEqual([[], ["live submitted"]]);
});

it("an agent with a bridge gets no turn, and a session that the bridge confirms is recorded as the bridge's", async () => {
  const { seat, program } = await away("bridged");
  seat.starter = {
    canResume: async () => false,
    start: () => Promise.reject(new Error("no session is started here")),
    lastReceipt: async () => undefined,
  };
  await seat.work();
  expect([program.asked, await newest("bridged")]).toMatchObject([[], { blockedBy: "unreachable" }]);
  const session = { sessionId: "s-b", agent: "bridged", runtime: "bridge", provider: "codex" } as const;
  expect(await named("bridged")).toMatchObject({ isOfBridge: false });
  await ground.wakes.confirm("default", session);
  expect(await named("bridged")).toMatchObject({ isOfBridge: true });
});

it("while another turn runs the wake waits, without an attempt", async () => {
  const { seat, program } = await away("waiting");
  program.isBusy = true;
  await seat.work();
  expect(await newest("waiting")).toMatchObject({ state: "DEFERRED", blockedBy: "rate", attempts: 0 });
  program.isBusy = false;
  await ground.wait("6 seconds");
  await seat.work();
  expect(await steps("waiting")).toEqual(["resume submitted"]);
});

it("an agent that may run elsewhere, is stale, or has failed three times is left alone", async () => {
  const { seat, program } = await away("odd");
  const facts = () => named("odd");
  expect(await facts()).toEqual({
    ...{ id: "c of odd", role: "worker", isStale: false, isRecent: false, isOfBridge: false, failures: 0 },
  });
  await heartbeatSession(ground.service, { ...ground.caller("odd"), session: "s-elsewhere" }, {});
  expect(await facts()).toMatchObject({ isRecent: true });
  await seat.work();
  expect(program.asked).toEqual([]);
  await ground.wait("3 minutes");
  program.turn = async () => "unknown";
  for (const failures of [0, 1, 2]) {
    expect(await facts()).toMatchObject({ failures, isRecent: false });
    if (failures > 0) await message("odd");
    await seat.work();
  }
  expect(await facts()).toMatchObject({ failures: 3 });
  await ground.wait("13 hours");
  expect(await facts()).toMatchObject({ isStale: true, failures: 0 });
});

it("the role of a turn's token is the one that the agent's own token had, not one that others gave it", async () => {
  const agent = "named-by-others";
  await ground.wakes.confirm("default", {
    ...{ sessionId: "s-n", agent, runtime: "sidecar", provider: "codex", agentSessionId: "c-9" },
  });
  await ground.message(agent);
  expect(await named(agent)).toMatchObject({ id: "c-9", role: "", isRecent: true });
});
