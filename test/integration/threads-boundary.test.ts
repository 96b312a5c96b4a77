import { createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { DomainError } from "../../internal/base/errors.ts";
import { asObjects, asText, objectOf } from "../../internal/base/json-fields.ts";
import { ThreadsService } from "../../internal/gen/threads/v1/threads_pb.ts";
import { ThreadsClient } from "../../internal/threads/client/threads-client.ts";
import { McpCaller } from "../support/threads/mcp-caller.ts";
import { startThread } from "../support/threads/threads-server.ts";
import { ThreadsWatcher } from "../support/threads/threads-watcher.ts";
import { type Claims, TokenRoom } from "../support/threads/token-room.ts";

const LONG = AbortSignal.timeout(900_000);
const MCP_2026 = "2026-07-28";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

/** People and agents with the same names in two workspaces: `w`, and the strangers' `v`. */
const OWN: Claims = { workspace_id: "w", agent_id: "alice", session_id: "s-alice" };
const STRANGERS = {
  "an operator of another workspace": { workspace_id: "v", agent_id: "alice", session_id: "s-alice" },
  "a worker of another workspace": { workspace_id: "v", agent_id: "town/fixer", role: "worker", session_id: "s-1" },
} as const;

let room: TokenRoom;
/** The ids of objects in `w`. */
let ids: Readonly<Record<"thread" | "message" | "wake" | "escalation" | "cursor", string>>;

const tokenOf = (claims: Claims) => room.token(claims, "person");
const clientOf = (claims: Claims) => new ThreadsClient({ url: room.server.url, token: () => tokenOf(claims) });
const mcpOf = (claims: Claims) => McpCaller.connect(room.server.url, tokenOf(claims), MCP_2026);

beforeAll(async () => {
  room = await TokenRoom.start();
  using alice = clientOf(OWN);
  await startThread(alice, "older secret", ["town/fixer"], LONG);
  const thread = await startThread(alice, "secret title", ["town/fixer"], LONG);
  const key = { idempotency_key: "k" };
  const posted = await alice.call("post_message", { thread_id: thread, text: "secret text", ...key }, LONG);
  await alice.call("create_thread", { title: "secret third", ...key }, LONG);
  const escalated = { thread_id: thread, reason: "secret reason", severity: "low", owner: "town/fixer" };
  const { escalation_id: escalation } = await alice.call("escalate_thread", escalated, LONG);
  const { wakes } = await alice.call("list_wakes", {}, LONG);
  const { next_cursor: cursor } = await alice.call("list_threads", { limit: 1 }, LONG);
  const [wake] = asObjects(wakes);
  ids = {
    ...{ thread, message: asText(posted["message_id"]), escalation: asText(escalation), cursor: asText(cursor) },
    wake: asText(objectOf(wake)["wake_id"]),
  };
});
afterAll(async () => {
  await room?.[Symbol.asyncDispose]();
});

/** Each operation with the ids of `w`: its expected code, or none if it answers with the caller's own objects. */
function foreign(own: string): Readonly<Record<string, readonly [input: object, code?: string]>> {
  const { thread, message, wake, escalation, cursor } = ids;
  return {
    create_thread: [{ title: "mine", participants: [{ agent_id: "town/fixer" }], idempotency_key: "k" }],
    get_thread: [{ thread_id: thread }, "NOT_FOUND"],
    list_threads: [{ owner: "town/fixer", cursor }],
    post_message: [{ thread_id: thread, text: "x", idempotency_key: "k", in_reply_to: message }, "NOT_FOUND"],
    read_messages: [{ thread_id: thread, after_seq: 0 }, "NOT_FOUND"],
    ack_read: [{ thread_id: thread, seq: 1 }, "NOT_FOUND"],
    update_thread_status: [{ thread_id: thread, expected_version: 1, status: "resolved" }, "NOT_FOUND"],
    summarize_thread: [{ thread_id: thread, text: "x" }, "NOT_FOUND"],
    search_messages: [{ query: "secret" }],
    escalate_thread: [{ thread_id: thread, reason: "x", severity: "high" }, "NOT_FOUND"],
    manage_participants: [{ thread_id: thread, add: [{ agent_id: own }] }, "NOT_FOUND"],
    heartbeat_session: [{}],
    trigger_participant: [{ thread_id: thread, agent_id: "town/fixer", reason: "x" }, "NOT_FOUND"],
    whoami: [{}],
    list_sessions: [{}],
    list_wakes: [{ thread_id: thread }, "NOT_FOUND"],
    cancel_wake: [{ wake_id: wake }, "NOT_FOUND"],
    pause: [{ thread_id: thread }, "NOT_FOUND"],
    resume: [{ thread_id: thread }, "NOT_FOUND"],
    list_escalations: [{}],
    acknowledge_escalation: [{ escalation_id: escalation }, "NOT_FOUND"],
    resolve_escalation: [{ escalation_id: escalation }, "NOT_FOUND"],
    list_audit: [{}],
    verify_audit: [{}],
    revoke_token: [{ session_id: "s-alice-elsewhere" }],
    get_policy: [{}],
    set_policy: [{ policy: { orchestrator: "town/fixer" } }],
  };
}

const TOOLS_OF_AGENTS = 14;
/** A worker gets these for operations of operators, before any id is looked up. */
const NOT_FOR_WORKERS = new Set(["INSUFFICIENT_AUTHORITY"]);

describe.each(Object.entries(STRANGERS))("F14, FR-14: %s learns nothing of a foreign thread", (_, stranger) => {
  it("by any RPC", async () => {
    using client = clientOf(stranger);
    const table = foreign(stranger.agent_id);
    const served = ThreadsService.methods.map(({ name }) => name.replace(/(?<!^)[A-Z]/g, "_$&").toLowerCase());
    expect(new Set([...Object.keys(table), "watch_threads"])).toEqual(new Set(served));
    const before = await everythingIn();
    for (const [name, [input, code]] of Object.entries(table)) {
      const answer = await client.call(name, input, LONG).catch((err: unknown) => err);
      const given = answer instanceof DomainError ? asText(answer.fields["code"]) : undefined;
      const isRefused = "role" in stranger && given !== undefined && NOT_FOR_WORKERS.has(given);
      if (!isRefused) expect([name, given]).toEqual([name, code]);
      shows(name, answer, input);
    }
    expect(await everythingIn()).toEqual(before);
  });

  it("by any tool, also one that names the workspace", async () => {
    await using caller = await mcpOf(stranger);
    const { tools } = await caller.client.listTools();
    expect(tools).toHaveLength(TOOLS_OF_AGENTS);
    const table = foreign(stranger.agent_id);
    const before = await everythingIn();
    for (const { name } of tools) {
      const [input, code = "none"] = table[name] ?? [{}];
      const result = await caller.client.callTool({ name, arguments: { ...input } });
      shows(name, result, input);
      expect([name, await caller.code(name, input)]).toEqual([name, code]);
      const named = await caller.code(name, { ...input, workspace_id: "w" });
      expect([name, named]).toEqual([name, "OUT_OF_SCOPE_WORKSPACE"]);
    }
    expect(await everythingIn()).toEqual(before);
    using auditor = clientOf({ ...stranger, role: "auditor" });
    const { entries } = await auditor.call("list_audit", { limit: 500 }, LONG);
    const detail = { code: "OUT_OF_SCOPE_WORKSPACE" };
    const row = { action: "refused", actor: stranger.agent_id, detail: expect.objectContaining(detail) };
    expect(entries).toContainEqual(expect.objectContaining(row));
  });

  it("by any resource, subscription or WatchThreads", async () => {
    const uris = [`thread://${ids.thread}`, "inbox://me"];
    const heard = { stranger: [] as string[], owner: [] as string[] };
    const listen = async (claims: Claims, into: string[]) => {
      const caller = await mcpOf(claims);
      caller.client.setNotificationHandler(
        "notifications/resources/updated",
        ({ params }) => void into.push(params.uri),
      );
      await caller.client.listen({ resourceSubscriptions: uris });
      return caller;
    };
    await using caller = await listen(stranger, heard.stranger);
    await using owner = await listen(OWN, heard.owner);
    await expect(caller.client.readResource({ uri: `thread://${ids.thread}` })).rejects.toThrow("there is no thread");
    shows("inbox", await caller.client.readResource({ uri: "inbox://me" }), {});
    await using watcher = new ThreadsWatcher(transportOf(stranger), { [ids.thread]: 0n });
    await using own = new ThreadsWatcher(transportOf(OWN), { [ids.thread]: 0n });
    await own.until("what is there", () => own.texts(ids.thread).includes("secret text"));
    await watcher.until("the snapshot", () => watcher.kinds.length > 0);
    using alice = clientOf(OWN);
    await alice.call("post_message", { thread_id: ids.thread, text: "secret too" }, LONG);
    await own.until("the message", () => own.texts(ids.thread).includes("secret too"));
    await own.until("the owner hears of it", () => heard.owner.includes(`thread://${ids.thread}`));
    // The stranger's own thread comes after it.
    using other = clientOf(stranger);
    const mine = await startThread(other, "mine", [], LONG);
    await watcher.until("its own", () => watcher.told("thread").some((one) => one.threadId === mine));
    expect(heard.stranger).not.toContain(`thread://${ids.thread}`);
    shows("WatchThreads", watcher.all, {});
    void owner;
  });
});

describe("FR-6: a subscription", () => {
  it("of a thread in the workspace gets nothing if its owner is not a participant", async () => {
    const uri = `thread://${ids.thread}`;
    const heard: Record<string, string[]> = { "town/fixer": [], "town/stranger": [] };
    const callers: McpCaller[] = [];
    for (const [agent_id, into] of Object.entries(heard)) {
      const caller = await McpCaller.connect(room.server.url, room.token({ agent_id, session_id: agent_id }), MCP_2026);
      callers.push(caller);
      caller.client.setNotificationHandler(
        "notifications/resources/updated",
        ({ params }) => void into.push(params.uri),
      );
      await caller.client.listen({ resourceSubscriptions: [uri, "inbox://me"] });
    }
    using alice = clientOf(OWN);
    const both = await startThread(alice, "of both", ["town/fixer", "town/stranger"], LONG);
    await alice.call("post_message", { thread_id: ids.thread, text: "secret three" }, LONG);
    await alice.call("post_message", { thread_id: both, text: "for both" }, LONG);
    await vi.waitFor(() => expect(heard["town/fixer"]).toContain(uri), { timeout: 60_000 });
    await vi.waitFor(() => expect(heard["town/stranger"]).toContain("inbox://me"), { timeout: 60_000 });
    expect(heard["town/stranger"]).not.toContain(uri);
    for (const caller of callers) await caller[Symbol.asyncDispose]();
  });
});

/** Everything in `w` that a person can see, except for changes by reading. */
async function everythingIn(): Promise<readonly unknown[]> {
  using alice = clientOf(OWN);
  const { thread } = ids;
  const calls: readonly (readonly [string, object])[] = [
    ...([
      ["list_threads", {}],
      ["list_wakes", {}],
      ["list_escalations", {}],
      ["list_audit", {}],
    ] as const),
    ...([
      ["get_thread", { thread_id: thread }],
      ["get_policy", {}],
      ["whoami", {}],
    ] as const),
    ["search_messages", { limit: 100 }],
  ];
  return await Promise.all(
    calls.map(async ([name, input]) => {
      const { expires_at: _moves, ...rest } = await alice.call(name, input, LONG);
      return rest;
    }),
  );
}

/** Fails if an answer reveals a word of `w` that the caller itself has not sent. */
function shows(what: string, answer: unknown, said: object): void {
  const text = answer instanceof Error ? `${answer.message} ${JSON.stringify(answer)}` : JSON.stringify(answer);
  const words = ["secret", ...Object.values(ids)].filter((one) => !JSON.stringify(said).includes(one));
  expect([what, words.filter((one) => text.includes(one))]).toEqual([what, []]);
}

function transportOf(claims: Claims) {
  return createConnectTransport({ ...room.transportOptions(claims, "person"), httpVersion: "2" });
}
