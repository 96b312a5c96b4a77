import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { calmTime } from "../support/calm-time.ts";
import type { McpCaller } from "../support/threads/mcp-caller.ts";
import { ThreadsWorld } from "../support/threads/threads-world.ts";

interface Message {
  readonly seq: number;
  readonly message_id: string;
  readonly text: string;
  readonly event_type?: string;
  readonly event_version?: number;
  readonly schema_version: number;
  readonly metadata?: Record<string, unknown>;
  readonly recipients?: readonly string[];
  readonly in_reply_to?: string;
  readonly erased?: boolean;
}
interface Posted {
  readonly message_id: string;
  readonly seq: number;
  readonly recipients: readonly string[];
  readonly thread_status: string;
}
interface Read {
  readonly messages: readonly Message[];
  readonly next_after_seq: number;
  readonly unread_count: number;
  readonly last_seen_seq: number;
}
interface Found {
  readonly hits: readonly Message[];
}

describe.each([["npm"], ["system"]])("the requirements of threads, on the PostgreSQL of %s", (postgres) => {
  let world: ThreadsWorld;
  let reviewer: McpCaller;
  let fixer: McpCaller;
  let person: McpCaller;
  beforeAll(async () => {
    world = await ThreadsWorld.start(postgres);
    reviewer = await world.as("town/reviewer", "reviewer");
    fixer = await world.as("town/fixer", "fixer");
    person = await world.as("ann", "operator");
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  const pair = () => world.thread(reviewer, ["town/reviewer:reviewer", "town/fixer:fixer"]);
  const post = (by: McpCaller, thread_id: string, text: string, more: object = {}) =>
    by.call<Posted>("post_message", { thread_id, text, ...more });
  const read = (by: McpCaller, thread_id: string, more: object = {}) =>
    by.call<Read>("read_messages", { thread_id, after_seq: 0, ...more });
  const events = async (thread_id: string, event_type: string) =>
    (await read(person, thread_id, { event_type })).messages;
  async function setStatus(by: McpCaller, thread_id: string, change: object): Promise<string> {
    const { thread } = await person.call<{ thread: { version: number } }>("get_thread", { thread_id });
    return await by.code("update_thread_status", { thread_id, expected_version: thread.version, ...change });
  }

  it("FR-01: threads have ids of their own, participants, and each of four statuses", async () => {
    const ids = await Promise.all(Array.from({ length: 5 }, () => pair()));
    expect(new Set(ids).size).toBe(5);
    const [thread_id = ""] = ids;
    for (const status of ["blocked", "active", "resolved", "closed"]) {
      expect(await world.gt("status", thread_id, status)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(status),
      });
    }
    const { participants } = await person.call<{ participants: { agent_id: string }[] }>("get_thread", { thread_id });
    expect(participants.map((one) => one.agent_id)).toEqual(expect.arrayContaining(["town/reviewer", "town/fixer"]));
  });

  it("FR-02: a message has free text, metadata, and the message that it answers", async () => {
    const thread_id = await pair();
    const metadata = { files: ["a.ts"], nested: { deep: [1, null, true] } };
    const { message_id } = await post(reviewer, thread_id, "look:\n  日本語 👩‍👩‍👧", { metadata });
    await post(fixer, thread_id, "done", { in_reply_to: message_id });
    const { messages } = await read(fixer, thread_id);
    expect(messages).toMatchObject([
      { text: "look:\n  日本語 👩‍👩‍👧", metadata },
      { text: "done", in_reply_to: message_id },
    ]);
    const elsewhere = await pair();
    expect(await fixer.code("post_message", { thread_id: elsewhere, text: "x", in_reply_to: message_id })).toBe(
      "NOT_FOUND",
    );
  });

  it.each([
    ["to an agent", { to: ["town/fixer"] }, ["town/fixer"], [1, 0]],
    ["to a role", { to_role: ["tester"] }, ["town/one", "town/two"], [0, 2]],
    [
      "to both: their union",
      { to: ["town/fixer", "town/one"], to_role: ["tester"] },
      ["town/fixer", "town/one", "town/two"],
      [1, 2],
    ],
    ["to none: everyone", {}, ["town/fixer", "town/one", "town/two"], [1, 2]],
  ])("FR-03: a message %s", async (_, address, recipients, [fixers, testers]) => {
    const thread_id = await world.thread(reviewer, ["town/fixer:fixer", "town/one:tester", "town/two:tester"]);
    expect([...(await post(reviewer, thread_id, "hear", address)).recipients].sort()).toEqual(recipients);
    expect((await read(fixer, thread_id)).unread_count).toBe(fixers);
    const counts = await Promise.all(
      ["town/one", "town/two"].map(
        async (agent) => (await read(await world.as(agent, "tester"), thread_id)).unread_count,
      ),
    );
    expect(counts.reduce((sum, one) => sum + one, 0)).toBe(testers);
  });

  it("FR-03: a role is resolved when the message is posted, not when it is read", async () => {
    const thread_id = await world.thread(reviewer, ["town/one:tester"]);
    await post(reviewer, thread_id, "hear", { to_role: ["tester"] });
    await reviewer.call("manage_participants", { thread_id, add: [{ agent_id: "town/two", role: "tester" }] });
    expect((await read(await world.as("town/two", "tester"), thread_id)).unread_count).toBe(0);
    expect((await read(person, thread_id)).messages[0]?.recipients).toEqual(["town/one"]);
  });

  it("FR-04: messages have one order without gaps, read page by page from any position", async () => {
    const thread_id = await pair();
    // On a slow disk the last ones in the queue for a lock time out: they retry with their key.
    const said = async (at: number): ReturnType<typeof post> => {
      const more = { event_type: "decision", idempotency_key: `n-${at}` };
      const one = await post(at % 2 === 0 ? reviewer : fixer, thread_id, `n ${at}`, more).catch((err: unknown) => {
        if ((err as { readonly code?: string }).code !== "UNAVAILABLE") throw err;
      });
      return one ?? (await said(at));
    };
    const all = Array.from({ length: 8 }, (_, at) => said(at));
    const given = (await Promise.all(all)).map((one) => one.seq).sort((a, b) => a - b);
    expect(given).toEqual(Array.from({ length: 8 }, (_, at) => at + 1));
    const seen: number[] = [];
    for (let after_seq = 0; seen.length < 8; ) {
      const page = await read(fixer, thread_id, { after_seq, limit: 3 });
      expect(page.messages.length).toBeGreaterThan(0);
      seen.push(...page.messages.map((one) => one.seq));
      after_seq = page.next_after_seq;
    }
    expect(seen).toEqual(given);
  });

  it("FR-05: typed events with versions stand beside chat, and their fields are checked", async () => {
    const thread_id = await pair();
    await post(reviewer, thread_id, "I am looking at it");
    await post(reviewer, thread_id, "no check", {
      event_type: "finding_reported",
      metadata: { path: "a.ts", line: 3 },
    });
    await post(fixer, thread_id, "own type", { event_type: "ci.finished", metadata: { green: true } });
    const wrong = { thread_id, text: "x", event_type: "fix_pushed" };
    expect(await fixer.code("post_message", wrong)).toBe("VALIDATION_ERROR");
    expect(await fixer.code("post_message", { ...wrong, event_version: 2, metadata: { commit: "c" } })).toBe(
      "VALIDATION_ERROR",
    );
    const { messages } = await read(fixer, thread_id);
    expect(messages.map((one) => one.event_type)).toEqual([undefined, "finding_reported", "ci.finished"]);
    expect((await events(thread_id, "finding_reported")).map((one) => one.text)).toEqual(["no check"]);
  });

  it("FR-06: a participant sees what is unread and how far it has seen, by thread and in all", async () => {
    const thread_id = await pair();
    for (const text of ["one", "two", "three"]) await post(reviewer, thread_id, text);
    expect(await read(fixer, thread_id, { after_seq: undefined })).toMatchObject({ unread_count: 3, last_seen_seq: 0 });
    expect(await fixer.call("ack_read", { thread_id, seq: 2 })).toEqual({ last_seen_seq: 2, unread_count: 1 });
    expect(await fixer.call("ack_read", { thread_id, seq: 1 })).toEqual({ last_seen_seq: 2, unread_count: 1 });
    const { messages } = await fixer.call<Read>("read_messages", { thread_id });
    expect(messages.map((one) => one.text)).toEqual(["three"]);
    const { threads } = await fixer.call<{ threads: { thread_id: string; unread_count: number }[] }>("list_threads", {
      unread_only: true,
    });
    expect(threads.find((one) => one.thread_id === thread_id)).toMatchObject({ unread_count: 1 });
  });

  it("FR-07: messages are found by words, thread, sender, event type, status and time", async () => {
    const thread_id = await pair();
    const word = `walrus${thread_id.slice(2, 8)}`;
    await post(reviewer, thread_id, `the ${word} is late`, { event_type: "question" });
    await post(fixer, thread_id, `a ${word} said "so"`);
    const found = async (query: object) =>
      (await fixer.call<Found>("search_messages", { query: word, ...query })).hits.map((one) => one.seq);
    expect(await found({})).toEqual([2, 1]);
    expect(await found({ sender: "town/fixer" })).toEqual([2]);
    expect(await found({ event_type: "question", thread_id })).toEqual([1]);
    expect(await found({ status: "closed" })).toEqual([]);
    expect(await found({ since: "2100-01-01T00:00:00Z" })).toEqual([]);
    expect(await found({ until: "2100-01-01T00:00:00Z", limit: 1 })).toEqual([2]);
    expect(await found({ query: `"${word} said" or ((& ! :* '` })).toEqual(expect.any(Array));
    const stranger = await world.as("town/stranger");
    expect((await stranger.call<Found>("search_messages", { query: word })).hits).toEqual([]);
    expect(await stranger.code("search_messages", { thread_id })).toBe("FORBIDDEN");
  });

  it("FR-07: a summary fits its size, names open findings and decisions, and includes a stored summary", async () => {
    const thread_id = await pair();
    const finding = { event_type: "finding_reported", metadata: { path: "a.ts" } };
    const { message_id } = await post(reviewer, thread_id, "first", finding);
    await post(reviewer, thread_id, "second", { ...finding, metadata: { path: "b.ts" } });
    await post(fixer, thread_id, "done", { event_type: "fix_pushed", metadata: { commit: "c1", fixes: [message_id] } });
    await post(fixer, thread_id, "we keep the API", { event_type: "decision" });
    for (let at = 0; at < 10; at++)
      await post(fixer, thread_id, `long ${at} ${"word ".repeat(200)}`, { event_type: "note" });
    const digest = await fixer.call<{ text: string; open_findings: Message[]; decisions: Message[]; by: string }>(
      "summarize_thread",
      { thread_id, max_bytes: 1024 },
    );
    expect(Buffer.byteLength(digest.text)).toBeLessThanOrEqual(1024);
    expect(digest.open_findings.map((one) => one.text)).toEqual(["second"]);
    expect(digest.decisions.map((one) => one.text)).toEqual(["we keep the API"]);
    await fixer.call("summarize_thread", { thread_id, text: "all in all: one is open" });
    const { text } = await fixer.call<{ text: string }>("summarize_thread", { thread_id });
    expect(text).toContain("all in all: one is open");
  });

  it("FR-08: audit rows cannot be changed, both chains verify, and a changed message is named", async () => {
    const thread_id = await pair();
    await post(reviewer, thread_id, "original");
    for (const sql of ["update threads.audit set actor = 'x'", "delete from threads.audit", "truncate threads.audit"]) {
      await expect(world.database.query(sql), sql).rejects.toThrow();
    }
    const verify = async () =>
      (await world.server
        .client("ann", "operator")
        .call("verify_audit", {}, AbortSignal.timeout(60_000))) as unknown as { ok: boolean; broken: object[] };
    expect(await verify()).toMatchObject({ ok: true, broken: [] });
    const set = (body: string) =>
      world.database.query("update threads.message set body = $2 where thread_id = $1", [thread_id, body]);
    await set("forged");
    expect(await verify()).toMatchObject({ ok: false, broken: [{ thread_id, seq: 1 }] });
    await set("original");
    expect(await verify()).toMatchObject({ ok: true });
  });

  it("FR-15: the path has one major version, and each message and event has its version", async () => {
    const thread_id = await pair();
    await post(reviewer, thread_id, "chat");
    await post(reviewer, thread_id, "why?", { event_type: "question" });
    await post(reviewer, thread_id, "own", { event_type: "own.type", event_version: 7 });
    const { messages } = await read(fixer, thread_id);
    expect(messages.map((one) => [one.schema_version, one.event_version])).toEqual([
      [1, undefined],
      [1, 1],
      [1, 7],
    ]);
    expect(await reviewer.call("whoami")).toMatchObject({ api_version: "v1" });
    const elsewhere = await fetch(`${world.server.url}/v2/mcp`, { method: "POST", body: "{}" });
    expect(elsewhere.status).toBe(404);
  });

  it("NFR-02: a message reaches a waiter within 500 ms in the median, busy time of the machine excluded", async () => {
    const thread_id = await pair();
    const took: number[] = [];
    for (let at = 1; at <= 9; at++) {
      const waiting = read(fixer, thread_id, { after_seq: at - 1, wait_ms: 25_000 });
      const sinceMs = calmTime();
      await post(person, thread_id, `message ${at}`);
      expect((await waiting).messages.map((one) => one.seq)).toEqual([at]);
      took.push(sinceMs());
    }
    expect(took.sort((a, b) => a - b)[4]).toBeLessThan(500);
  });

  it("NFR-03: the 20 participants of each of 100 active threads all see what is new", {
    timeout: 600_000,
  }, async () => {
    const crew = Array.from({ length: 20 }, (_, at) => `crew/a${at}`);
    const ids: string[] = [];
    for (let at = 0; at < 100; at++) ids.push(await world.thread(person, crew, `work ${at}`));
    for (const thread_id of ids) await post(person, thread_id, "to all of you");
    for (const name of [crew[0] ?? "", crew[19] ?? ""]) {
      const agent = await world.as(name);
      const { threads, unread_total } = await agent.call<{ threads: object[]; unread_total: number }>("list_threads", {
        ...{ limit: 100, unread_only: true },
      });
      expect([threads.length, unread_total]).toEqual([100, 100]);
    }
  });

  it("FR-13: only an operator ends a dispute, and the decision is audited", async () => {
    const boss = await world.as("town/boss", "orchestrator");
    const thread_id = await pair();
    expect(await setStatus(fixer, thread_id, { status: "resolved" })).toBe("none");
    expect(await setStatus(reviewer, thread_id, { status: "active", reason: "it still fails" })).toBe("none");
    for (const by of [fixer, boss]) {
      expect(await setStatus(by, thread_id, { status: "resolved" })).toBe("INSUFFICIENT_AUTHORITY");
      expect(await setStatus(by, thread_id, { status: "closed" })).toBe("INSUFFICIENT_AUTHORITY");
      expect(await setStatus(by, thread_id, { disputed: false })).toBe("INSUFFICIENT_AUTHORITY");
    }
    expect(await setStatus(boss, thread_id, { needs_human_decision: true })).toBe("none");
    expect(await setStatus(person, thread_id, { status: "closed", disputed: false, reason: "good enough" })).toBe(
      "none",
    );
    expect(await events(thread_id, "override")).toHaveLength(1);
    const override = "select actor from threads.audit where action = 'override' and thread_id = $1";
    expect(await world.database.query(override, [thread_id])).toEqual([{ actor: "ann" }]);
    expect(await fixer.code("post_message", { thread_id, text: "x" })).toBe("THREAD_CLOSED");
    expect((await world.gt("ls", "--status", "closed")).stdout).toContain(thread_id);
  });
});
