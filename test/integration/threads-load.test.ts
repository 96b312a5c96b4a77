import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { asObjects } from "../../internal/base/json-fields.ts";
import type { ThreadsClient } from "../../internal/threads/client/threads-client.ts";
import { calmTime } from "../support/calm-time.ts";
import { eventually } from "../support/eventually.ts";
import { McpCaller } from "../support/threads/mcp-caller.ts";
import { runProgramOf } from "../support/threads/run-threads.ts";
import { TestDatabase } from "../support/threads/test-database.ts";
import { startThread, ThreadsServer } from "../support/threads/threads-server.ts";

const LONG = AbortSignal.timeout(900_000);
const WAIT_MS = 120_000;
/** A share of the measurement's load. */
const [POLLS, LISTENS, INBOX, MUTE] = [200, 40, 10_000, 5];
const MOST_MIB = 200;
/** The longest that a waiter may wait for a message, as promised to 95 of 100. */
const VISIBLE_MS = 2000;

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

let database: TestDatabase;
let server: ThreadsServer;
let lead: ThreadsClient;
beforeAll(async () => {
  database = await TestDatabase.start();
  expect(await runProgramOf("threads", ["migrate", "--database-url", database.url()])).toMatchObject({ code: 0 });
  server = await ThreadsServer.start("--database-url", database.url(), "--runtime", "none");
  lead = server.client("town/lead", "orchestrator");
  using person = server.client("person", "operator");
  const free = { turns: 100_000, repeats: 100_000, runaway_per_hour: 100_000, posts_per_minute: 100_000 };
  await person.call("set_policy", { policy: free }, LONG);
});
afterAll(async () => {
  lead?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

/** The server's private memory, MiB. */
function residentMiB(): number {
  const kib = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${server.pid}/status`, "latin1"))?.[1];
  return Number(kib) / 1024;
}

const post = (thread_id: string, text: string) => lead.call("post_message", { thread_id, text }, LONG);

/** The time that a message takes to reach a waiter with a connection of its own, ms. */
async function visibleMs(agent: string, thread_id: string, text: string): Promise<number> {
  using waiter = server.client(agent);
  const { last_seq } = await waiter.call("read_messages", { thread_id }, LONG);
  const found = waiter.call("read_messages", { thread_id, after_seq: last_seq, wait_ms: 25_000 }, LONG);
  const sinceMs = calmTime();
  await post(thread_id, text);
  expect(asObjects((await found)["messages"]).map((one) => one["text"])).toEqual([text]);
  return sinceMs();
}

/** A call whose answer is never read. */
function mute(method: string, token: string, body: string, type = "application/json"): Socket {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.pause();
  const head = [
    `POST /threads.v1.ThreadsService/${method} HTTP/1.1`,
    ...[`host: ${hostname}`, `content-type: ${type}`, `content-length: ${Buffer.byteLength(body)}`],
    `authorization: Bearer ${token}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  return socket;
}

it("F20: many long polls and subscriptions are served at once in bounded memory, and delay no one", async () => {
  const thread = await startThread(lead, "for others", ["town/other"], LONG);
  const before = residentMiB();
  const crowd = Array.from({ length: POLLS }, (_, at) => `town/crowd-${at}`);
  const rooms: string[] = [];
  for (let at = 0; at < POLLS; at += 50)
    rooms.push(await startThread(lead, `room ${at}`, crowd.slice(at, at + 50), LONG));
  await using all = new AsyncDisposableStack();
  for (let at = 0; at < LISTENS; at++) {
    const listener = all.use(await McpCaller.connect(server.url, server.token(`town/crowd-${at}`), "2026-07-28"));
    await listener.client.listen({ resourceSubscriptions: ["inbox://me"] });
  }
  const clients = crowd.map((agent) => all.use(server.client(agent)));
  const polls = clients.map((client, at) =>
    client.call("read_messages", { thread_id: rooms[Math.floor(at / 50)] ?? "", wait_ms: 25_000 }, LONG),
  );
  const waiting = async () =>
    (await (await fetch(`${server.healthUrl}/metrics`)).text()).includes(`gt_threads_longpolls ${POLLS}`);
  await Promise.race([eventually("all wait", waiting, WAIT_MS), Promise.all(polls)]);
  const tookMs: number[] = [];
  for (let one = 0; one < 10; one++) tookMs.push(await visibleMs("town/other", thread, `while they wait ${one}`));
  expect(tookMs.toSorted((a, b) => a - b)[5]).toBeLessThan(VISIBLE_MS);
  expect(residentMiB() - before).toBeLessThan(MOST_MIB);
  for (const room of rooms) await post(room, `for ${room}`);
  for (const [at, answer] of (await Promise.all(polls)).entries()) {
    const texts = asObjects(answer["messages"]).map((one) => one["text"]);
    expect(texts.length === 0 ? answer["timed_out"] : texts).toEqual(
      texts.length === 0 ? true : [`for ${rooms[Math.floor(at / 50)]}`],
    );
  }
});

it("F20: clients that never read their answers delay no one, and their answers are bounded", async () => {
  const thread = await startThread(lead, "of the mute", ["town/mute", "town/other"], LONG);
  for (let one = 0; one < 40; one++) await post(thread, `${one} ${"x".repeat(60_000)}`);
  const before = residentMiB();
  const read = JSON.stringify({ threadId: thread, afterSeq: "0", limit: 200 });
  const envelope = `${String.fromCharCode(0, 0, 0, 0, 2)}{}`;
  const sockets = Array.from({ length: MUTE }, () => [
    mute("ReadMessages", server.token("town/mute"), read),
    mute("WatchThreads", server.token("town/mute"), envelope, "application/connect+json"),
  ]).flat();
  try {
    for (let one = 0; one < 200; one++) await post(thread, `more ${one} ${"y".repeat(30_000)}`);
    expect(await visibleMs("town/other", thread, "heard all the same")).toBeLessThan(VISIBLE_MS);
    expect(residentMiB() - before).toBeLessThan(MOST_MIB);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

it("F20: a full inbox is read page by page, and acknowledged", async () => {
  const agent = "town/full";
  const thread = await startThread(lead, "full", [agent], LONG);
  await database.query(
    `insert into threads.message (workspace_id, thread_id, seq, message_id, sender, sender_role, sender_kind, sender_session,
       kind, body, urgency, hop, body_hash, prev_hash, hash, created_at)
     select 'default', $1, n, 'm-' || n, 'town/lead', 'orchestrator', 'agent', 's', 'chat', 'number ' || n, 'quiet', 1, '', '', '',
       now() from generate_series(1, $2::int) n`,
    [thread, INBOX],
  );
  await database.query("update threads.thread set last_seq = $2 where thread_id = $1", [thread, INBOX]);
  const before = residentMiB();
  using client = server.client(agent);
  const sinceMs = calmTime();
  const first = await client.call("read_messages", { limit: 200 }, LONG);
  expect(first).toMatchObject({ unread_count: INBOX });
  expect(sinceMs()).toBeLessThan(VISIBLE_MS);
  const read: unknown[] = [];
  for (let after = 0; after < INBOX; after += 200) {
    const page = await client.call("read_messages", { thread_id: thread, after_seq: after, limit: 200 }, LONG);
    read.push(...asObjects(page["messages"]).map((one) => one["text"]));
  }
  expect(read).toEqual(Array.from({ length: INBOX }, (_, at) => `number ${at + 1}`));
  expect(await client.call("ack_read", { thread_id: thread, seq: INBOX }, LONG)).toMatchObject({ unread_count: 0 });
  expect(residentMiB() - before).toBeLessThan(MOST_MIB);
});
