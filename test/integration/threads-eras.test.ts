import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { programFile } from "../support/programs.ts";
import {
  type Era,
  type EraClient,
  eraClient,
  type McpTransport,
  type ToolResult,
} from "../support/threads/era-client.ts";
import { runProgramOf } from "../support/threads/run-threads.ts";
import { TestDatabase } from "../support/threads/test-database.ts";
import { ThreadsServer } from "../support/threads/threads-server.ts";
import { type ToolCall, toolCalls, toolGround } from "../support/threads/tool-calls.ts";
import { ANSWERS, ERROR } from "../support/threads/tool-shapes.ts";

const LONG = AbortSignal.timeout(900_000);
const WAIT_MS = 60_000;
const POSTS_PER_MINUTE = 30;
const MAX_LIST_BYTES = 12 * 1024;
const WAYS = ["/v1/mcp", "gt threads mcp"] as const;
const ERAS: readonly Era[] = ["2.4 auto", "2.4 legacy", "1.x"];
const CLIENTS = WAYS.flatMap((way) => ERAS.map((era) => ({ way, era })));
/** Codes that no tool returns: HTTP itself answers an invalid token, and a wake's state reports its failures. */
const ELSEWHERE = ["UNAUTHORIZED", "WAKE_FAILED", "HUMAN_INPUT_COLLISION"];
const CODES = [
  ...["UNAUTHORIZED", "FORBIDDEN", "CLAIM_MISMATCH", "OUT_OF_SCOPE_WORKSPACE", "NOT_FOUND", "CONFLICT"],
  ...["IDEMPOTENCY_CONFLICT", "VALIDATION_ERROR", "RATE_LIMITED", "INSUFFICIENT_AUTHORITY", "INVALID_TRANSITION"],
  ...["THREAD_CLOSED", "THREAD_AUTO_BLOCKED", "UNKNOWN_RECIPIENT", "WAKE_FAILED", "UNMANAGED_RUNTIME"],
  ...["HUMAN_INPUT_COLLISION", "UNAVAILABLE"],
];

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

let database: TestDatabase;
let server: ThreadsServer;
beforeAll(async () => {
  database = await TestDatabase.start();
  const migrated = await runProgramOf("threads", ["migrate", "--database-url", database.url()]);
  expect(migrated.code, migrated.stderr).toBe(0);
  server = await ThreadsServer.start("--database-url", database.url(), "--runtime", "none");
  using person = server.client("ann", "operator");
  await person.call("set_policy", { policy: { posts_per_minute: POSTS_PER_MINUTE } }, LONG);
});
afterAll(async () => {
  for (const client of clients.values()) await (await client)[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

async function wayOf(way: (typeof WAYS)[number], agent: string): Promise<McpTransport> {
  const token = server.token(agent, "fixer");
  if (way === "/v1/mcp") return { url: server.url, token };
  const file = join(server.dir, `${agent.replaceAll(/\W/g, "-")}.token`);
  await writeFile(file, token, { mode: 0o600 });
  const env = { ...server.env, GT_THREADS: server.url, GT_THREADS_TOKEN_FILE: file };
  return { command: process.execPath, args: [programFile("gt"), "threads", "mcp"], env };
}

/** Returns the answer, and checks that it has the form that the tool promises. */
function answerOf(tool: string, result: ToolResult): object {
  expect([tool, result.isError ?? false, result.content[0]?.text]).toEqual([tool, false, expect.any(String)]);
  const { structuredContent: answer } = result;
  expect(JSON.parse(result.content[0]?.text ?? "")).toEqual(answer);
  const checked = ANSWERS[tool]?.safeParse(answer);
  expect([tool, checked?.error?.issues]).toEqual([tool, undefined]);
  return answer ?? {};
}

/** The error's code. */
function codeOf({ isError, content, structuredContent, _meta }: ToolResult): string {
  expect([isError, structuredContent, content.length]).toEqual([true, undefined, 1]);
  const body = ERROR.parse(JSON.parse(content[0]?.text ?? ""));
  expect(_meta).toMatchObject({ "gastown.io/error": body.error });
  return body.error.code;
}

async function call(client: EraClient, { tool, input, code }: ToolCall): Promise<string> {
  const result = await client.callTool(tool, input);
  if (code === undefined) answerOf(tool, result);
  else expect([tool, input, codeOf(result)]).toEqual([tool, input, code]);
  return code ?? "";
}

async function connected(way: (typeof WAYS)[number], era: Era, agent: string): Promise<EraClient> {
  const client = await eraClient(era, await wayOf(way, agent));
  await client.listTools();
  return client;
}

const nameOf = (way: string, era: string) => `town/${`${way}-${era}`.replaceAll(/[^\w]+/g, "-")}`;

/** The clients of all tests, by their agents: half of them are programs, which are costly to start. */
const clients = new Map<string, Promise<EraClient>>();

function clientOf(way: (typeof WAYS)[number], era: Era): Promise<EraClient> {
  const agent = nameOf(way, era);
  const client = clients.get(agent) ?? connected(way, era, agent);
  clients.set(agent, client);
  return client;
}

async function groundOf(agent: string) {
  const [personId, mateId] = [`${agent}-person`, `${agent}-mate`];
  using person = server.client(personId, "operator");
  using mate = server.client(mateId);
  return await toolGround(agent, { personId, mateId, person, mate }, LONG);
}

describe.each(CLIENTS)("NFR-06: the client $era by $way", ({ way, era }) => {
  const isModern = era === "2.4 auto";
  const agent = nameOf(way, era);

  it("accepts every answer and error of every tool under the advertised schemas", async () => {
    const ground = await groundOf(agent);
    const client = await clientOf(way, era);
    if (client.revision !== undefined) expect(client.revision).toBe(isModern ? "2026-07-28" : "2025-11-25");
    const tools = await client.listTools();
    const calls = toolCalls(ground);
    expect(new Set(calls.map(({ tool }) => tool))).toEqual(new Set(tools.map(({ name }) => name)));
    expect(Object.keys(ANSWERS)).toEqual(tools.map(({ name }) => name));
    const seen = new Set<string>();
    for (const one of calls) seen.add(await call(client, one));
    const loud = { tool: "post_message", input: { thread_id: ground.own, event_type: "decision", text: "" } };
    for (let at = 0; !seen.has("RATE_LIMITED"); at++) {
      expect(at).toBeLessThanOrEqual(POSTS_PER_MINUTE);
      const result = await client.callTool(loud.tool, { ...loud.input, text: `decision ${at}` });
      if (result.isError === true) seen.add(codeOf(result));
      else answerOf(loud.tool, result);
    }
    const here = [...seen].filter((code) => code !== "");
    expect([...here, "UNAVAILABLE", ...ELSEWHERE].toSorted()).toEqual(CODES.toSorted());
    await expect(client.callTool("no_such_tool", {})).rejects.toMatchObject({ code: -32_602 });
  });

  it("reads the resources, and gets a code for any other", async () => {
    const { own, foreign } = await groundOf(agent);
    const client = await clientOf(way, era);
    expect(await client.resources()).toEqual({ uris: ["inbox://me"], templates: ["thread://{id}"] });
    const inbox = JSON.parse(await client.readResource("inbox://me")) as { threads: { thread_id: string }[] };
    expect(inbox.threads.map(({ thread_id }) => thread_id)).toContain(own);
    const thread: unknown = JSON.parse(await client.readResource(`thread://${own}`));
    expect(thread).toMatchObject({ thread: { thread_id: own }, digest: expect.stringContaining("NaN") });
    expect(thread).toMatchObject({ last_messages: [{ seq: 1 }, { seq: 2 }, { seq: 3 }] });
    const refused = async (uri: string) => await client.readResource(uri).catch((err: unknown) => err);
    expect(await refused(`thread://${foreign}`)).toMatchObject({ code: -32_602, data: { code: "FORBIDDEN" } });
    expect(await refused("thread://t-none")).toMatchObject({ code: -32_602, data: { code: "NOT_FOUND" } });
    expect(await refused("file:///x")).toMatchObject({ code: -32_602, data: { uri: "file:///x" } });
  });

  it("FR-06: learns of new messages by subscription if it can, and otherwise by polling", async () => {
    const { own, foreign } = await groundOf(agent);
    const client = await clientOf(way, era);
    using person = server.client("ann", "operator");
    const post = (thread_id: string) => person.call("post_message", { thread_id, text: "news" }, LONG);
    expect(client.canSubscribe).toBe(isModern);
    const heard: string[] = [];
    const listening = client.listen([`thread://${own}`, `thread://${foreign}`, "inbox://me"], (uri) => heard.push(uri));
    if (!isModern) {
      await expect(listening).rejects.toThrow();
      const poll = client.callTool("read_messages", { thread_id: own, after_seq: 3, wait_ms: 25_000 });
      await post(own);
      expect(answerOf("read_messages", await poll)).toMatchObject({ messages: [{ text: "news" }], timed_out: false });
      return;
    }
    await listening;
    await post(foreign);
    await post(own);
    await vi.waitFor(() => expect(heard).toEqual(expect.arrayContaining([`thread://${own}`, "inbox://me"])), WAIT_MS);
    expect(heard).not.toContain(`thread://${foreign}`);
  });
});

it("each client gets a code while the database is down, and continues when it is back", async () => {
  const all = await Promise.all(CLIENTS.map(({ way, era }) => clientOf(way, era)));
  const holder = new Client({ connectionString: database.url() });
  await holder.connect();
  try {
    await holder.query("begin; lock table threads.thread in access exclusive mode");
    const results = await Promise.all(all.map((client) => client.callTool("list_threads", {})));
    expect(results.map(codeOf)).toEqual(all.map(() => "UNAVAILABLE"));
    await holder.query("rollback");
  } finally {
    await holder.end();
  }
  for (const client of all) answerOf("list_threads", await client.callTool("list_threads", {}));
});

describe("the list of tools", () => {
  const META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  };
  it.each([
    ["2025-11-25", {}],
    ["2026-07-28", { _meta: META }],
  ])("of %s has at most 12 KiB", async (revision, params) => {
    const headers = {
      ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
      ...{ authorization: `Bearer ${server.token("town/lister")}` },
      ...{ "mcp-protocol-version": revision, "mcp-method": "tools/list" },
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params });
    const answer = await fetch(`${server.url}/v1/mcp`, { method: "POST", headers, body });
    const text = await answer.text();
    expect(text).toContain("trigger_participant");
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_LIST_BYTES);
  });

  it("marks exactly the tools that only read, and those whose repetition changes nothing", async () => {
    const agent = "town/hints";
    const ground = await groundOf(agent);
    await using client = await connected("/v1/mcp", "1.x", agent);
    const tools = new Map((await client.listTools()).map(({ name, annotations = {} }) => [name, annotations]));
    const calls = toolCalls(ground);
    let before = await everything();
    for (const one of calls) {
      const { readOnlyHint, idempotentHint } = tools.get(one.tool) ?? {};
      await call(client, one);
      const after = await everything();
      if (readOnlyHint === true) expect([one, after]).toEqual([one, before]);
      before = after;
      if (idempotentHint !== true || one.code !== undefined) continue;
      await call(client, one);
      expect([one, await everything()]).toEqual([one, after]);
    }
    expect([...tools.values()].filter(({ readOnlyHint }) => readOnlyHint === true)).toHaveLength(4);
  });
});

/** The rows that calls change, of all tables but that of sessions, which any call keeps alive. */
async function everything(): Promise<unknown> {
  const tables = ["thread", "participant", "message", "wake", "escalation"];
  const rows = tables.map((name) => `(select md5(string_agg(t::text, ' ' order by t::text)) from threads.${name} t)`);
  return await database.query(`select ${rows.map((row, at) => `${row} as ${tables[at]}`).join(", ")}`);
}
