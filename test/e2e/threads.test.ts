import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gt } from "../support/bridge/gt-transcript.ts";
import { calmTime } from "../support/calm-time.ts";
import { eventually } from "../support/eventually.ts";
import { programFile } from "../support/programs.ts";
import { runToEnd } from "../support/run-to-end.ts";
import { DemoSidecar } from "../support/threads/demo-sidecar.ts";
import { McpCaller } from "../support/threads/mcp-caller.ts";
import { startThread, ThreadsServer } from "../support/threads/threads-server.ts";

const LONG_MS = 120_000;
const TALK_MS = 400_000;
const ROUNDS = 20;

/** An object nested to this depth. */
function nested(depth: number): object {
  return depth === 0 ? {} : { a: nested(depth - 1) };
}

interface Thread {
  readonly thread: { readonly thread_id: string; readonly version: number };
}
interface Posted {
  readonly message_id: string;
  readonly seq: number;
  readonly duplicate: boolean;
}
interface Read {
  readonly messages: readonly { readonly seq: number; readonly text: string; readonly message_id: string }[];
  readonly unread_count: number;
  readonly last_seen_seq: number;
}

describe.each([
  ["npm's package", "npm"],
  ["the system", "system"],
])("threads on the PostgreSQL of %s", (_, postgres) => {
  let server: ThreadsServer;
  let reviewer: McpCaller;
  let fixer: McpCaller;
  beforeAll(async () => {
    server = await ThreadsServer.start("--postgres", postgres);
    reviewer = await McpCaller.connect(server.url, server.token("town/reviewer", "reviewer"));
    fixer = await McpCaller.connect(server.url, server.token("town/fixer", "fixer"));
  });
  afterAll(async () => {
    await reviewer?.[Symbol.asyncDispose]();
    await fixer?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  async function newThread(): Promise<string> {
    const participants = [{ agent_id: "town/fixer", role: "fixer" }];
    return (await reviewer.call<Thread>("create_thread", { title: "review", participants })).thread.thread_id;
  }

  describe("with an idle agent", () => {
    let agent: DemoSidecar;
    beforeAll(async () => {
      agent = await DemoSidecar.start("town/wright", server);
    });
    afterAll(() => agent?.[Symbol.asyncDispose]());

    it("FR-10: an idle agent is woken for a message, once, and the receipt says so", async () => {
      const made = await gt(["threads", "new", "fix \u001b[2Jit", "--with", "town/wright:fixer"], server.env);
      expect(made).toMatchObject({ code: 0, stderr: "" });
      const thread = made.stdout.trim();
      const post = ["threads", "post", thread.slice(0, 10), "please", "--role", "fixer", "--idempotency-key", "k"];
      let posted = await gt([...post, "--wait", "--timeout", "30s"], server.env);
      const woken = async () => {
        if (posted.code === 5) posted = await gt([...post, "--wait", "--timeout", "30s"], server.env);
        return posted.code !== 5;
      };
      await eventually("the wake has its receipt", woken, 180_000);
      expect(posted.stdout).toMatch(/(SUBMITTED|ACKED) {2}town\/wright {2}submitted/);
      expect(posted.code).toBe(0);
      expect(agent.taken).toEqual([expect.stringContaining(`gt threads read ${thread}`)]);
      const shown = await gt(["threads", "show", thread], server.env);
      expect(shown).toMatchObject({ code: 0, stdout: expect.not.stringContaining("\u001b") });
      const own = await gt(["threads", "read", thread, "--new", "--wait", "100ms"], server.env);
      expect(own).toMatchObject({ code: 5, stdout: "nothing new\n" });
      const blocked = await gt(["threads", "status", thread, "blocked", "--reason", "wait"], server.env);
      expect(blocked).toMatchObject({ code: 0, stdout: expect.stringContaining("blocked") });
      expect((await gt(["threads", "status", thread, "blocked"], server.env)).code).toBe(6);
      const wakes = await gt(["threads", "wakes", "town/wright"], server.env);
      expect(wakes.stdout).toContain("submitted");
      expect(await gt(["threads", "inbox"], server.env)).toMatchObject({ code: 0, stdout: "nothing new\n" });
      expect((await gt(["threads", "read", "t-none-at-all"], server.env)).code).toBe(3);
      expect((await gt(["threads", "read", thread, "--wait", "100ms", "--after", "99"], server.env)).code).toBe(5);
    });

    it(
      "NFR-07: a dormant agent has its wake's text 3 s after the message, busy time excluded",
      async () => {
        using person = server.client("ann", "operator");
        const thread_id = await startThread(person, "wake up", [agent.address], AbortSignal.timeout(LONG_MS));
        const policy = { wakes_per_minute: 1000 };
        await person.call("set_policy", { policy }, AbortSignal.timeout(LONG_MS));
        const before = agent.taken.length;
        const took: number[] = [];
        for (let round = 1; round <= ROUNDS; round++) {
          const sinceMs = calmTime();
          await person.call("post_message", { thread_id, text: `message ${round}` }, AbortSignal.timeout(LONG_MS));
          await eventually("the text was taken", () => agent.taken.length === before + round, LONG_MS);
          took.push(sinceMs());
        }
        expect(took.toSorted((a, b) => a - b).at(Math.floor(ROUNDS * 0.95) - 1), `${took}`).toBeLessThan(3000);
      },
      TALK_MS,
    );
  });

  it("FR-02 FR-04 FR-06: a message reaches a waiter in order, and reading does not acknowledge", async () => {
    const thread_id = await newThread();
    const waiting = fixer.call<Read>("read_messages", { thread_id, wait_ms: 25_000 });
    const posted = await reviewer.call<Posted>("post_message", { thread_id, text: "look", to_role: ["fixer"] });
    expect(await waiting).toMatchObject({ messages: [{ text: "look", seq: 1 }], unread_count: 1, last_seen_seq: 0 });
    const reply = { thread_id, text: "done", in_reply_to: posted.message_id, ack_seq: 1 };
    expect(await fixer.call<Posted>("post_message", reply)).toMatchObject({ seq: 2, duplicate: false });
    const after = await fixer.call<Read>("read_messages", { thread_id, after_seq: 0 });
    expect(after).toMatchObject({ unread_count: 0, last_seen_seq: 1 });
    expect(after.messages.map((one) => one.seq)).toEqual([1, 2]);
  });

  it("FR-04: the same key stores one message, and another payload is refused", async () => {
    const thread_id = await newThread();
    const message = { thread_id, text: "once", idempotency_key: "k-1" };
    const answers = await Promise.all(Array.from({ length: 8 }, () => reviewer.call<Posted>("post_message", message)));
    expect(new Set(answers.map((one) => one.message_id)).size).toBe(1);
    expect(answers.filter((one) => !one.duplicate)).toHaveLength(1);
    expect(await reviewer.code("post_message", { ...message, text: "twice" })).toBe("IDEMPOTENCY_CONFLICT");
  });

  it.each([
    ["an agent that is not a participant", "post_message", { text: "x", to: ["nobody"] }, "UNKNOWN_RECIPIENT"],
    ["a role that no one has", "post_message", { text: "x", to_role: ["painter"] }, "UNKNOWN_RECIPIENT"],
    ["another sender", "post_message", { text: "x", sender: "town/boss" }, "CLAIM_MISMATCH"],
    ["another workspace", "post_message", { text: "x", workspace_id: "other" }, "OUT_OF_SCOPE_WORKSPACE"],
    ["a field that is not known", "post_message", { text: "x", colour: "red" }, "VALIDATION_ERROR"],
    ["a text that is too large", "post_message", { text: "x".repeat(65_537) }, "VALIDATION_ERROR"],
    ["NUL", "post_message", { text: "a\u0000b" }, "VALIDATION_ERROR"],
    ["a system event", "post_message", { text: "x", event_type: "loop_blocked" }, "VALIDATION_ERROR"],
    ["an old version", "update_thread_status", { expected_version: 99, status: "blocked" }, "CONFLICT"],
    [
      "a worker that closes",
      "update_thread_status",
      { expected_version: 1, status: "closed" },
      "INSUFFICIENT_AUTHORITY",
    ],
    ["an unknown transition", "update_thread_status", { expected_version: 1, status: "active" }, "INVALID_TRANSITION"],
    ["a seq after the last", "ack_read", { seq: 7 }, "VALIDATION_ERROR"],
    ["half of a character", "post_message", { text: "a\ud800b" }, "VALIDATION_ERROR"],
    ["metadata that is nested nine deep", "post_message", { text: "x", metadata: nested(9) }, "VALIDATION_ERROR"],
    [
      "metadata of 16 KiB and more",
      "post_message",
      { text: "x", metadata: { a: "x".repeat(16_384) } },
      "VALIDATION_ERROR",
    ],
    ["another role", "post_message", { text: "x", role: "operator" }, "CLAIM_MISMATCH"],
    ["another session", "read_messages", { session_id: "s-other" }, "CLAIM_MISMATCH"],
    ["an interrupt by a worker", "post_message", { text: "x", urgency: "interrupt" }, "INSUFFICIENT_AUTHORITY"],
    ["no message to answer", "post_message", { text: "x", in_reply_to: "m-none" }, "NOT_FOUND"],
  ])("F15: %s gets its own code, and nothing is stored", async (_name, tool, args, code) => {
    const thread_id = await newThread();
    expect(await reviewer.code(tool, { thread_id, ...args })).toBe(code);
    expect(await reviewer.call("get_thread", { thread_id })).toMatchObject({ thread: { last_seq: 0, version: 1 } });
  });

  it.each([
    ["a duplicate key", '"text":"a","text":"b"', 400],
    ["__proto__", '"text":"a","metadata":{"__proto__":{"a":1}}', undefined],
    ["no JSON", '"text":', 400],
  ])("F15: %s in the body is refused as it was sent, and nothing is stored", async (_name, fields, status) => {
    const thread_id = await newThread();
    const params = `{"name":"post_message","arguments":{"thread_id":"${thread_id}",${fields}}}`;
    const answer = await fetch(`${server.url}/v1/mcp`, {
      method: "POST",
      headers: {
        ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
        authorization: `Bearer ${server.token("town/reviewer", "reviewer")}`,
      },
      body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`,
    });
    const said = await answer.text();
    if (status !== undefined) expect([answer.status, said]).toEqual([status, expect.stringContaining("-32700")]);
    else expect(said).toMatch(/VALIDATION_ERROR|-32700/);
    expect(await reviewer.call("get_thread", { thread_id })).toMatchObject({ thread: { last_seq: 0, version: 1 } });
  });

  it("FR-16: a loop is blocked for agents and escalated once", async () => {
    const thread_id = await newThread();
    for (let round = 0; round < 2; round++) {
      await reviewer.call("post_message", { thread_id, text: "thanks!" });
      await fixer.call("post_message", { thread_id, text: `you are welcome ${round}` });
    }
    expect(await reviewer.call("post_message", { thread_id, text: "Thanks" })).toMatchObject({
      thread_status: "blocked",
    });
    expect(await fixer.code("post_message", { thread_id, text: "stop" })).toBe("THREAD_AUTO_BLOCKED");
    const { messages } = await fixer.call<{ messages: { event_type?: string }[] }>("read_messages", {
      thread_id,
      after_seq: 5,
    });
    expect(messages.map((one) => one.event_type)).toEqual(["loop_blocked", "escalated"]);
  });

  it("FR-11: every call without a valid token is refused", async () => {
    const ask = (authorization?: string) =>
      fetch(`${server.url}/v1/mcp`, {
        method: "POST",
        headers: { "content-type": "application/json", ...(authorization !== undefined && { authorization }) },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      });
    const foreign = server.token("town/fixer", "fixer", { workspace: "elsewhere" });
    for (const header of [undefined, "Basic abc", "Bearer abc.def.ghi", `Bearer ${foreign}`]) {
      const answer = await ask(header);
      expect(answer.status).toBe(401);
      expect(answer.headers.get("www-authenticate")).toContain("Bearer");
    }
  });

  it("FR-14: a thread of another workspace does not exist for a caller", async () => {
    expect(await fixer.code("get_thread", { thread_id: "t-abcdefghijkmnpqr" })).toBe("NOT_FOUND");
  });

  it("NFR-01: what was acknowledged survives a kill of the server, with its own database left behind", async () => {
    const thread_id = await newThread();
    await reviewer.call("post_message", { thread_id, text: "kept", idempotency_key: "kept" });
    await reviewer.client.close();
    await fixer.client.close();
    await server.end("SIGKILL");
    await server.begin();
    reviewer = await McpCaller.connect(server.url, server.token("town/reviewer", "reviewer"));
    fixer = await McpCaller.connect(server.url, server.token("town/fixer", "fixer"));
    const again = { thread_id, text: "kept", idempotency_key: "kept" };
    expect(await reviewer.call("post_message", again)).toMatchObject({ duplicate: true, seq: 1 });
  });

  it("a second server exits with 5 if another one uses the folder", async () => {
    const ports = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"];
    const args = [programFile("threads"), ...ports, "--postgres", postgres];
    const { code, stderr } = await runToEnd(process.execPath, args, { env: server.env });
    expect([code, stderr]).toEqual([5, expect.stringContaining("another threads uses the folder")]);
  });
});
