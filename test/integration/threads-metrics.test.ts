import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { McpCaller } from "../support/threads/mcp-caller.ts";
import { runProgramOf } from "../support/threads/run-threads.ts";
import { TestDatabase } from "../support/threads/test-database.ts";
import { ThreadsServer } from "../support/threads/threads-server.ts";

/** Turns without progress at which the loop guard blocks. */
const TURNS = 20;

it("NFR-05: metrics cover waiters' latency, unread messages, blocked loops, refusals and database errors", async () => {
  await using database = await TestDatabase.start();
  const at = ["--database-url", database.url()];
  expect((await runProgramOf("threads", ["migrate", ...at])).code).toBe(0);
  await using server = await ThreadsServer.start(...at, "--runtime", "none");
  const metrics = async () => (await (await fetch(`${server.healthUrl}/metrics`)).text()).split("\n");
  const value = async (name: string) => {
    const line = (await metrics()).find((one) => one.startsWith(`gt_threads_${name} `));
    return line === undefined ? undefined : Number(line.split(" ").at(-1));
  };
  // Asks repeatedly, because the server reuses a reading of the metrics for a moment.
  const becomes = (name: string, wanted: number) =>
    eventually(`${name} is ${wanted}`, async () => (await value(name)) === wanted);
  await using one = await McpCaller.connect(server.url, server.token("one"));
  await using two = await McpCaller.connect(server.url, server.token("two"));
  const { thread } = await one.call<{ thread: { thread_id: string } }>("create_thread", {
    ...{ title: "work", participants: [{ agent_id: "two" }] },
  });
  const { thread_id } = thread;

  let turn = 0;
  const post = () => one.call("post_message", { thread_id, text: `turn ${++turn} of many` });
  // If the post arrives before the wait has begun, no wait is counted, and this tries again.
  await eventually("a waiter has been notified", async () => {
    const waiting = two.call("read_messages", { thread_id, after_seq: turn, wait_ms: 25_000 });
    await becomes("longpolls", 1);
    await post();
    await waiting;
    return ((await value("visible_seconds_count")) ?? 0) > 0;
  });
  await becomes("unread", turn);
  while (turn < TURNS) await post();
  await becomes('loop_blocks_total{rule="no_progress"}', 1);
  await becomes("unread", TURNS);

  const headers = { authorization: "Bearer no-token", "content-type": "application/json" };
  expect((await fetch(`${server.url}/v1/mcp`, { method: "POST", headers, body: "{}" })).status).toBe(401);
  expect(await two.code("whoami", { agent_id: "one" })).toBe("CLAIM_MISMATCH");
  await becomes('auth_refused_total{code="unauthorized"}', 1);
  await becomes('auth_refused_total{code="claim_mismatch"}', 1);

  await database.query("alter table threads.participant rename to away");
  expect(await two.code("get_thread", { thread_id })).toBe("UNAVAILABLE");
  await database.query("alter table threads.away rename to participant");
  await eventually("the failure is counted", async () => ((await value('db_errors_total{code="42P01"}')) ?? 0) > 0);
}, 300_000);
