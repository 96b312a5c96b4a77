import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { asObjects, asText } from "../../internal/base/json-fields.ts";
import type { ThreadsClient } from "../../internal/threads/client/threads-client.ts";
import { gt, gtInTerminal } from "../support/bridge/gt-transcript.ts";
import { eventually } from "../support/eventually.ts";
import { DemoSidecar } from "../support/threads/demo-sidecar.ts";
import { McpCaller } from "../support/threads/mcp-caller.ts";
import { startThread, ThreadsServer } from "../support/threads/threads-server.ts";

const LONG = AbortSignal.timeout(900_000);
const WAIT_MS = 120_000;
/** The policy's default, less one second: the sidecar learns the time of a key in whole seconds. */
const QUIET_MS = 19_000;
const DRAFT = "half a";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

describe.each([["npm"], ["system"]])("threads and runtimes, on the PostgreSQL of %s", (postgres) => {
  let server: ThreadsServer;
  let person: ThreadsClient;
  let fixer: DemoSidecar;
  beforeAll(async () => {
    server = await ThreadsServer.start("--postgres", postgres);
    person = server.client("tester", "operator");
    fixer = await DemoSidecar.start("town/fixer", server);
  });
  afterAll(async () => {
    person?.[Symbol.dispose]();
    await fixer?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  const post = (thread_id: string, text: string) => person.call("post_message", { thread_id, text }, LONG);
  const wakeOf = async (agent_id: string) => {
    const [wake = {}] = asObjects((await person.call("list_wakes", { agent_id, limit: 1 }, LONG))["wakes"]);
    return { state: asText(wake["state"]), blockedBy: asText(wake["blocked_by"]) };
  };
  const becomes = (agent: string, states: readonly string[], blockedBy: readonly string[]) =>
    eventually(
      `the wake is ${states} by ${blockedBy}`,
      async () => {
        const wake = await wakeOf(agent);
        return states.includes(wake.state) && blockedBy.includes(wake.blockedBy);
      },
      WAIT_MS,
    );
  const taken = (count: number) => eventually(`${count} texts`, () => fixer.taken.length === count, WAIT_MS);

  it("FR-17: a wake is typed to an agent with one of our runtimes; any other agent reads its messages itself", async () => {
    const thread = await startThread(person, "two kinds", [fixer.address, "town/loner"], LONG);
    await post(thread, "for both of you");
    await taken(1);
    await eventually("it was submitted", async () => (await wakeOf(fixer.address)).state === "SUBMITTED", WAIT_MS);
    await becomes("town/loner", ["DEFERRED"], ["unreachable"]);
    await using managed = await McpCaller.connect(server.url, server.token(fixer.address));
    await using loner = await McpCaller.connect(server.url, server.token("town/loner"));
    expect(await managed.call("whoami")).toMatchObject({ managed: true });
    expect(await loner.call("whoami")).toMatchObject({ managed: false });
    expect(await loner.call("read_messages")).toMatchObject({ messages: [{ text: "for both of you" }] });
    expect(await managed.call("read_messages", { thread_id: thread, ack_seq: 1 })).toMatchObject({ last_seen_seq: 1 });
  });

  it("FR-18: a wake waits for 20 s without keys and for a draft to be gone, and force is audited", async () => {
    const before = fixer.taken.length;
    const thread = await startThread(person, "collision", [fixer.address], LONG);
    await using hands = gtInTerminal(["attach", fixer.address], server.env);
    await eventually("the agent's screen", () => hands.seen().includes("Type a message"), WAIT_MS);
    const draft = async () => {
      hands.type(DRAFT);
      await eventually("the draft", async () => (await screen()).includes(DRAFT), WAIT_MS);
    };
    const screen = async () => (await gt(["peek", fixer.address], server.env)).stdout;
    await draft();
    await post(thread, "not over this");
    await becomes(fixer.address, ["QUEUED", "DEFERRED"], ["person", "draft"]);
    hands.type("\x7f".repeat(DRAFT.length));
    const last = performance.now();
    await taken(before + 1);
    expect(performance.now() - last).toBeGreaterThan(QUIET_MS);

    await draft();
    await post(thread, "nor this");
    await becomes(fixer.address, ["QUEUED", "DEFERRED"], ["person", "draft"]);
    const force = ["threads", "wake", thread, fixer.address, "--reason", "I must", "--force"];
    // On a busy machine `gt` may get its answer before the attempt has ended.
    let refused = await gt(force, server.env);
    for (let again = 0; refused.code === 5 && again < 10; again++) refused = await gt(force, server.env);
    expect([refused.code, refused.stderr]).toEqual([
      6,
      expect.stringContaining("nothing was typed, and the wake waits"),
    ]);
    await becomes(fixer.address, ["QUEUED", "DEFERRED"], ["draft"]);
    expect(await screen()).not.toContain("nor this");
    expect(fixer.taken).toHaveLength(before + 1);
    const { entries } = await person.call("list_audit", { limit: 500 }, LONG);
    const detail = { agent_id: fixer.address, reason: "I must" };
    expect(entries).toContainEqual(expect.objectContaining({ action: "forced_wake", actor: "tester", detail }));
    hands.type("\x7f".repeat(DRAFT.length));
    await taken(before + 2);
  });

  it("NFR-04 NFR-05: no log contains a token, and one id connects message, wake and audit", async () => {
    const token = server.token("town/tracer");
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    const call = async (name: string, input: object) => {
      const headers = {
        ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
        ...{ authorization: `Bearer ${token}`, traceparent: `00-${trace}-00f067aa0ba902b7-01` },
      };
      const params = { name, arguments: input };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
      return (await (await fetch(`${server.url}/v1/mcp`, { method: "POST", headers, body })).text()).replaceAll(
        "\\",
        "",
      );
    };
    const made = await call("create_thread", { title: "traced" });
    const thread_id = /"thread_id":"(t-\w+)"/.exec(made)?.[1];
    expect(await call("post_message", { thread_id, text: "x", sender: "town/other" })).toContain("CLAIM_MISMATCH");
    const { entries } = await person.call("list_audit", { limit: 500 }, LONG);
    const own = asObjects(entries).filter((one) => one["actor"] === "town/tracer");
    expect(own.map((one) => [one["action"], asText(one["correlation_id"]).includes(trace)])).toEqual([
      ["thread_created", true],
      ["refused", true],
    ]);
    const [, claims = "", signature = ""] = token.split(".");
    for (const secret of [claims, signature]) expect(server.log).not.toContain(secret);
  });
});
