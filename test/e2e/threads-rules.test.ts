import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { McpCaller } from "../support/threads/mcp-caller.ts";
import { ThreadsWorld } from "../support/threads/threads-world.ts";

interface Message {
  readonly seq: number;
  readonly text: string;
  readonly event_type?: string;
  readonly erased?: boolean;
}
interface Escalated {
  readonly escalation_id: string;
  readonly owner: string;
  readonly context: Record<string, unknown>;
}
interface Escalation {
  readonly escalation_id: string;
  readonly owner: string;
  readonly state: string;
  readonly cause: string;
  readonly reason: string;
}

const LONG = AbortSignal.timeout(900_000);

describe.each([["npm"], ["system"]])("the rules of threads, on the PostgreSQL of %s", (postgres) => {
  let world: ThreadsWorld;
  let worker: McpCaller;
  let person: McpCaller;
  beforeAll(async () => {
    world = await ThreadsWorld.start(postgres);
    worker = await world.as("town/worker", "worker");
    person = await world.as("ann", "operator");
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  const post = (by: McpCaller, thread_id: string, text: string, more: object = {}) =>
    by.call<{ seq: number; thread_status: string }>("post_message", { thread_id, text, ...more });
  const messages = async (thread_id: string, more: object = {}) =>
    (await person.call<{ messages: readonly Message[] }>("read_messages", { thread_id, after_seq: 0, ...more }))
      .messages;
  const escalate = (thread_id: string, reason: string, more: object = {}) =>
    worker.call<Escalated>("escalate_thread", { thread_id, reason, severity: "high", ...more });

  /** Performs an operation that only people may perform. */
  async function operate<T>(name: string, input: object = {}): Promise<T> {
    using client = world.server.client("ann", "operator");
    return (await client.call(name, input, LONG)) as T;
  }
  async function escalationsOf(thread_id: string) {
    const { escalations } = await operate<{ escalations: readonly (Escalation & { thread_id: string })[] }>(
      "list_escalations",
    );
    return escalations.filter((one) => one.thread_id === thread_id);
  }
  const openWakes = (agent: string) =>
    world.database.query("select 1 as one from threads.wake where agent_id = $1 and state = 'PENDING'", [agent]);

  it("FR-09: an escalation has an owner and a digest of at most 8 KiB, and more reasons join it", async () => {
    const thread_id = await world.thread(worker, ["town/peer:peer"], "t".repeat(200));
    const finding = { event_type: "finding_reported", metadata: { path: "a.ts" } };
    for (let at = 0; at < 12; at++) await post(worker, thread_id, `${at} ${"日本".repeat(500)}`, finding);
    const first = await escalate(thread_id, "we disagree");
    expect(first.owner).toBe("operators");
    expect(Buffer.byteLength(JSON.stringify(first.context))).toBeLessThanOrEqual(8192);
    expect(first.context).toMatchObject({ title: "t".repeat(200), status: "active", open_findings: expect.any(Array) });
    expect((await escalate(thread_id, "still")).escalation_id).toBe(first.escalation_id);
    const [only, ...others] = await escalationsOf(thread_id);
    expect(others).toEqual([]);
    expect(only).toMatchObject({ state: "open", reason: "we disagree; still" });
    expect(await messages(thread_id, { event_type: "escalated" })).toHaveLength(1);
  });

  it("FR-09: an escalation reaches the named owner by a wake, and otherwise the thread's owner", async () => {
    const thread_id = await world.thread(worker, ["town/keeper:keeper", "town/named:named"]);
    expect((await escalate(thread_id, "look", { owner: "town/named" })).owner).toBe("town/named");
    expect(await openWakes("town/named")).toHaveLength(1);
    const own = await worker.call<{ thread: { thread_id: string } }>("create_thread", {
      ...{ title: "owned", owner: "town/keeper", participants: [{ agent_id: "town/keeper" }] },
    });
    expect((await escalate(own.thread.thread_id, "look")).owner).toBe("town/keeper");
  });

  it("FR-09: an escalation goes to the operators once, unless it is acknowledged in time", async () => {
    const late = await world.thread(worker, ["town/keeper:keeper"]);
    const inTime = await world.thread(worker, ["town/keeper:keeper"]);
    await escalate(late, "late", { owner: "town/keeper" });
    const { escalation_id } = await escalate(inTime, "in time", { owner: "town/keeper" });
    await operate("acknowledge_escalation", { escalation_id });
    const raised = () => messages(late, { event_type: "escalated" });
    expect(await raised()).toHaveLength(1);
    await world.wait("16 minutes");
    await eventually("it went to the operators", async () => (await raised()).length === 2, 60_000);
    expect(await escalationsOf(late)).toMatchObject([{ owner: "operators", state: "open" }]);
    await world.wait("16 minutes");
    const another = await world.thread(worker, ["town/keeper:keeper"]);
    await escalate(another, "after it", { owner: "town/keeper" });
    await world.wait("16 minutes");
    const isRaised = async () => (await messages(another, { event_type: "escalated" })).length === 2;
    await eventually("a later one went to the operators", isRaised, 60_000);
    expect(await raised()).toHaveLength(2);
    expect(await escalationsOf(inTime)).toMatchObject([{ owner: "town/keeper", state: "acknowledged" }]);
    const rows = "select 1 as one from threads.audit where action = 'escalation_overdue' and thread_id = $1";
    expect(await world.database.query(rows, [late])).toHaveLength(1);
  });

  it("FR-08: bodies of threads closed for longer than the retention are erased, and the chains still verify", async () => {
    const closed = await world.thread(worker, []);
    const open = await world.thread(worker, []);
    for (const thread_id of [closed, open])
      await post(worker, thread_id, "secret plan", { metadata: { key: "value" } });
    expect((await world.gt("status", closed, "closed")).code).toBe(0);
    await operate("set_policy", { policy: { retention_days: 30 } });
    await world.wait("29 days");
    expect((await messages(closed))[0]).toMatchObject({ text: "secret plan" });
    await world.wait("2 days");
    const isErased = async () => (await messages(closed))[0]?.erased === true;
    await eventually("it is erased", isErased, 120_000);
    expect((await messages(closed))[0]).toMatchObject({ seq: 1, text: "" });
    expect((await messages(open))[0]).toMatchObject({ text: "secret plan" });
    expect(await operate("verify_audit")).toMatchObject({ ok: true, broken: [] });
    expect((await world.gt("show", closed)).stdout).toContain("(erased)");
    await operate("set_policy", { policy: { retention_days: 0 } });
  });

  it("FR-12: only the named orchestrator reads and posts everywhere and is informed of escalations", async () => {
    const named = await world.as("town/mayor", "orchestrator");
    const other = await world.as("town/pretender", "orchestrator");
    const thread_id = await world.thread(worker, ["town/peer:peer"]);
    expect(await other.code("get_thread", { thread_id })).toBe("none");
    await operate("set_policy", { policy: { orchestrator: "town/mayor" } });
    expect(await other.code("get_thread", { thread_id })).toBe("FORBIDDEN");
    expect(await other.code("post_message", { thread_id, text: "x" })).toBe("FORBIDDEN");
    expect((await post(named, thread_id, "I coordinate")).seq).toBe(1);
    const elsewhere = await world.thread(worker, []);
    expect((await escalate(elsewhere, "decide")).owner).toBe("town/mayor");
    expect(await openWakes("town/mayor")).toHaveLength(1);
    expect((await post(person, thread_id, "and a person still reaches a worker", { to: ["town/peer"] })).seq).toBe(2);
    await operate("set_policy", { policy: { orchestrator: "" } });
  });

  it("FR-16: a loop of nine agents is stopped and escalated once, and no one is woken afterwards", async () => {
    const names = Array.from({ length: 9 }, (_, at) => `circle/a${at}`);
    const agents = await Promise.all(names.map((name) => world.as(name)));
    const thread_id = await world.thread(agents[0] as McpCaller, names);
    let sent = 0;
    let code = "none";
    for (let at = 0; code === "none" && at < 60; at++) {
      const agent = agents[at % 9] as McpCaller;
      await agent.call("read_messages", { thread_id });
      code = await agent.code("post_message", { thread_id, text: `over to you, ${at}`, to: [names[(at + 1) % 9]] });
      if (code === "none") sent++;
    }
    expect([sent, code]).toEqual([20, "THREAD_AUTO_BLOCKED"]);
    expect(await escalationsOf(thread_id)).toMatchObject([
      { cause: "loop_no_progress", state: "open", owner: "operators" },
    ]);
    const wakes = "select count(*)::int as count from threads.wake where agent_id like 'circle/%'";
    const before = await world.database.query(wakes);
    for (const agent of agents)
      expect(await agent.code("post_message", { thread_id, text: "more" })).toBe("THREAD_AUTO_BLOCKED");
    await post(person, thread_id, "stop it");
    expect(await world.database.query(wakes)).toEqual(before);
    expect((await messages(thread_id)).map((one) => one.event_type).filter((one) => one !== undefined)).toEqual([
      "loop_blocked",
      "escalated",
    ]);
    expect((await world.gt("status", thread_id, "active", "--reason", "agree first")).code).toBe(0);
    expect((await post(agents[3] as McpCaller, thread_id, "agreed")).thread_status).toBe("active");
  });

  it("FR-16: a loop over two threads is stopped by its hop count", async () => {
    await operate("set_policy", { policy: { hops: 6 } });
    const [a, b] = [await world.as("hop/a"), await world.as("hop/b")];
    const there = await world.thread(a, ["hop/b"]);
    const back = await world.thread(b, ["hop/a"]);
    const statuses: string[] = [];
    for (let at = 0; !statuses.includes("blocked") && at < 20; at++) {
      const [agent, heard, thread_id] = at % 2 === 0 ? ([a, back, there] as const) : ([b, there, back] as const);
      await agent.call("read_messages", { thread_id: heard });
      const more = { event_type: "decision" };
      statuses.push((await post(agent, thread_id, `forwarded ${at}`, more)).thread_status);
    }
    expect(statuses.at(-1)).toBe("blocked");
    expect(statuses.length).toBeGreaterThan(5);
    const found = [...(await escalationsOf(there)), ...(await escalationsOf(back))];
    expect(found).toMatchObject([{ cause: "loop_hop_limit" }]);
    await operate("set_policy", { policy: { hops: 20 } });
  });
});
