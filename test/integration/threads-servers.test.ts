import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gt } from "../support/bridge/gt-transcript.ts";
import { eventually } from "../support/eventually.ts";
import { DemoSidecar } from "../support/threads/demo-sidecar.ts";
import { runProgramOf } from "../support/threads/run-threads.ts";
import { TestDatabase } from "../support/threads/test-database.ts";
import { startThread, ThreadsServer } from "../support/threads/threads-server.ts";

const LONG = AbortSignal.timeout(600_000);
/** The longest that a reader may wait. */
const WAIT_MS = 25_000;

interface Wake {
  readonly wake_id: string;
  readonly state: string;
  readonly last_outcome: string;
}

/** Two servers on one database, with the same keys; a wake is handled by the server that claims it. */
describe("two servers on one database", () => {
  let database: TestDatabase;
  let one: ThreadsServer;
  let two: ThreadsServer;
  beforeAll(async () => {
    database = await TestDatabase.start();
    const migrated = await runProgramOf("threads", ["migrate", "--database-url", database.url()]);
    expect(migrated).toMatchObject({ code: 0, stdout: expect.stringMatching(/^(migrated to \d{4}\n)+$/) });
    one = await ThreadsServer.start("--database-url", database.url());
    two = await one.beside();
  });
  afterAll(async () => {
    await two?.[Symbol.asyncDispose]();
    await one?.[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  async function newThread(...agents: string[]): Promise<string> {
    using person = one.client("town/lead", "orchestrator");
    return await startThread(person, "work", agents, LONG);
  }

  async function wakesOf(agent: string): Promise<readonly Wake[]> {
    const rows = "select wake_id, state, last_outcome from threads.wake where agent_id = $1 order by created_at";
    return await database.query<Wake>(rows, [agent]);
  }

  /** Ends every lease, so that either server can claim a wake that the other one holds. */
  async function endLeases(): Promise<void> {
    await database.query("update threads.wake set lease_until = now() where lease_until is not null");
  }

  async function post(server: ThreadsServer, thread_id: string, text: string, key?: string) {
    using lead = server.client("town/lead", "orchestrator");
    const idempotency_key = key ?? text;
    return await lead.call("post_message", { thread_id, text, idempotency_key }, LONG);
  }

  it("FR-04: store one message if the same post reaches both", async () => {
    const thread = await newThread("town/a");
    const posts = Array.from({ length: 16 }, (_, at) => post(at % 2 === 0 ? one : two, thread, "once", "key"));
    const answers = await Promise.all(posts);
    expect(new Set(answers.map((answer) => answer["message_id"])).size).toBe(1);
    expect(answers.filter((answer) => answer["duplicate"] === false)).toHaveLength(1);
  });

  it("FR-06: deliver a message posted to one to a waiter at the other", async () => {
    const thread = await newThread("town/waits");
    using waiter = two.client("town/waits");
    const waiting = waiter.call("read_messages", { thread_id: thread, wait_ms: 25_000 }, LONG);
    await post(one, thread, "over there");
    expect(await waiting).toMatchObject({ messages: [{ text: "over there", seq: 1 }], timed_out: false });
  });

  it("F5: type each text once to an agent that both could wake", async () => {
    const agent = await DemoSidecar.start("town/shared", one, 100);
    await using _agent = agent;
    const thread = await newThread("town/shared");
    for (let round = 0; round < 4; round++) {
      await post(round % 2 === 0 ? one : two, thread, `round ${round}`);
      await endLeases(); // as if a slow worker's lease had run out: the other server may claim the same wake
      await eventually("the text was typed", async () => agent.taken.length >= round + 1, 60_000);
    }
    const isOver = async () => (await wakesOf("town/shared")).every((wake) => wake.state === "SUBMITTED");
    await eventually("every wake has ended", isOver, 60_000);
    expect(agent.taken).toHaveLength(4);
    expect(new Set(agent.taken.map((text) => text.split("]")[0])).size).toBe(4);
  });

  it("F9: withdraw a queued wake when the agent has read everything", async () => {
    const agent = await DemoSidecar.start("town/busy", one, 600_000);
    await using _agent = agent;
    expect((await gt(["nudge", "town/busy", "a long turn"], one.env)).code).toBe(0);
    const thread = await newThread("town/busy");
    await post(one, thread, "while you work");
    const isQueued = async () => (await wakesOf("town/busy"))[0]?.state === "QUEUED";
    await eventually("the sidecar holds it", isQueued, 60_000);
    using reader = two.client("town/busy");
    await reader.call("read_messages", { thread_id: thread }, LONG);
    const isOver = async () => (await wakesOf("town/busy"))[0]?.state === "CANCELLED";
    await eventually("the wake is withdrawn", isOver, 30_000);
    expect(agent.taken).toEqual(["a long turn"]);
    expect(await wakesOf("town/busy")).toHaveLength(1);
  });

  it("wake an agent separately for a message that arrives while a text is queued", async () => {
    const agent = await DemoSidecar.start("town/next", one);
    await using _agent = agent;
    // The turn lasts until its dialog is answered.
    expect((await gt(["nudge", "town/next", "run: a turn"], one.env)).code).toBe(0);
    const thread = await newThread("town/next");
    await post(one, thread, "first");
    const isQueued = async () => (await wakesOf("town/next"))[0]?.state === "QUEUED";
    await eventually("the sidecar holds it", isQueued, 60_000);
    await post(two, thread, "second");
    const isAnswered = async () => (await gt(["respond", "town/next", "1"], one.env)).code === 0;
    await eventually("the turn goes on", isAnswered, 60_000);
    const isTyped = async () => agent.taken.some((text) => text.includes('"second"'));
    await eventually("the agent is woken for the second too", isTyped, 60_000);
    const reasons = await database.query<{ reason: string }>(
      "select reason from threads.wake where agent_id = 'town/next' order by created_at",
    );
    expect(reasons[1]).toEqual({ reason: "came meanwhile" });
  });

  it("report on /readyz that the database is down, and recover by themselves when it is back", async () => {
    const thread = await newThread("town/later");
    using waiter = one.client("town/later");
    await waiter.call("read_messages", { thread_id: thread }, LONG);
    const read = () => waiter.call("read_messages", { thread_id: thread, wait_ms: WAIT_MS }, LONG);
    const begun = performance.now();
    // On a slow machine the database is away for longer than a reader may wait: the reader then reads again.
    const waiting = read().catch((err: unknown) => {
      if (performance.now() - begun < WAIT_MS) throw err;
      return { timed_out: true };
    });
    await database.end();
    const status = async (server: ThreadsServer) => (await fetch(`${server.healthUrl}/readyz`)).status;
    for (const server of [one, two])
      await eventually("/readyz is 503", async () => (await status(server)) === 503, 30_000);
    await expect(post(two, thread, "in vain")).rejects.toMatchObject({ fields: { code: "UNAVAILABLE" } });
    await database.begin();
    for (const server of [one, two])
      await eventually("/readyz is 200", async () => (await status(server)) === 200, 60_000);
    await post(two, thread, "after all");
    const first = await waiting;
    const last = first["timed_out"] === true ? await read() : first;
    expect(last).toMatchObject({ messages: [{ text: "after all" }] });
  });
});

it("threads serve exits with 3 if the database needs `threads migrate`", async () => {
  await using database = await TestDatabase.start();
  const ran = await runProgramOf("threads", ["serve", "--database-url", database.url()]);
  expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining("run: threads migrate")]);
});

it("threads serve names a state folder that cannot be made, and the flag for another one", async () => {
  const ran = await runProgramOf("threads", ["serve", "--state-dir", "/proc/nothing"]);
  const said = /cannot make the folder \/proc\/nothing\/keys: there is no such folder\n.*give another --state-dir/;
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(said)]);
});
