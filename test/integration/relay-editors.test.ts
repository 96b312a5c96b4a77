import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { client, PROTOCOL_VERSION, type SessionNotification } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { until } from "../support/sidecar/sidecar.ts";

const AGENT = fileURLToPath(new URL("../fakes/acp-agent-main.ts", import.meta.url));
const TIMES = { timeout: 240_000 };

let folder: string;
let nats: NatsServer;
let coordinator: Coordinator;
let relay: RelayProcess;
let config: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-editors-"));
  nats = await NatsServer.start(await oldestNats());
  coordinator = await Coordinator.connect(nats);
  const role = { link: "stdio", command: [process.execPath, AGENT], repo_path: folder, max_agents: 50 };
  config = join(folder, "relay.yaml");
  const turns = { permission_timeout: "30m", create_timeout: "10m" };
  await writeFile(config, JSON.stringify({ turns, roles: { coding: role } }));
  relay = await RelayProcess.start(nats.url, { args: ["--config", config] });
}, TIMES.timeout);
afterAll(async () => {
  await relay?.[Symbol.asyncDispose]();
  await coordinator?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

type Way = "WebSocket" | "HTTP";

/** An editor of the SDK's own client. */
class Editor implements Disposable {
  readonly updates: SessionNotification[] = [];
  readonly permissions: string[] = [];
  readonly #connection;
  decide = "yes";

  private constructor(url: string, way: Way) {
    const stream =
      way === "HTTP"
        ? createHttpStream(url.replace(/^ws/, "http"))
        : createWebSocketStream(url, { WebSocket: WebSocket as never });
    this.#connection = client({ name: "editor" })
      .onNotification("session/update", ({ params }) => void this.updates.push(params))
      .onRequest("session/request_permission", async ({ params }) => {
        this.permissions.push(params.toolCall.toolCallId);
        if (this.decide === "none") return new Promise<never>(() => {});
        if (this.decide === "cancel") return { outcome: { outcome: "cancelled" } };
        return { outcome: { outcome: "selected", optionId: this.decide } };
      })
      .connect(stream);
  }

  static async open(way: Way, query = "role=coding", at = relay): Promise<Editor> {
    const editor = new Editor(`${await at.url()}/acp?${query}`, way);
    const { agentCapabilities } = await editor.agent.request("initialize", { protocolVersion: PROTOCOL_VERSION });
    expect(agentCapabilities?.loadSession).toBe(true);
    return editor;
  }

  get agent() {
    return this.#connection.agent;
  }

  async start(): Promise<string> {
    return (await this.agent.request("session/new", { cwd: "/", mcpServers: [] })).sessionId;
  }

  prompt(sessionId: string, text: string) {
    return this.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  }

  /** The texts of the agent and, marked, of the user and the relay. */
  get said(): readonly string[] {
    return this.updates.flatMap(({ update }) => {
      if (!("content" in update) || update.content === null || !("type" in update.content)) return [];
      const text = update.content.type === "text" ? update.content.text : "";
      const marks: Readonly<Record<string, string>> = { user_message_chunk: "> ", agent_thought_chunk: "? " };
      return [`${marks[update.sessionUpdate] ?? ""}${text}`];
    });
  }

  [Symbol.dispose](): void {
    this.#connection.close();
  }
}

describe.concurrent.each(["WebSocket", "HTTP"] as const)("an editor by %s", (way) => {
  it("prompts an agent, which does the prompt once as work of its lane, and sees its output", TIMES, async () => {
    using editor = await Editor.open(way, `session=prompt-${way}&role=coding`);
    const session = await editor.start();
    expect(session).toBe(`prompt-${way}:coding`);
    expect(await editor.prompt(session, "hello")).toMatchObject({ stopReason: "end_turn" });
    expect(editor.said).toEqual(["prompt 1: hello"]);
    expect(await editor.prompt(session, "recall")).toMatchObject({ stopReason: "end_turn" });
    expect(editor.said.slice(1)).toEqual(["hello"]);
    const results = await coordinator.results(`prompt-${way}`, 2);
    expect(results.map(({ body }) => body["type"])).toEqual(["result.success", "result.success"]);
    const [first] = editor.updates;
    // The SDK's client drops the first one, whose kind it does not know.
    expect(first?._meta).toMatchObject({ relay: { epoch: expect.any(String), seq: 2, id: results[0]?.body["id"] } });
  });

  it("gets a permission request, and its answer reaches the agent", TIMES, async () => {
    using editor = await Editor.open(way);
    const session = await editor.start();
    await editor.prompt(session, "ask");
    editor.decide = "no";
    await editor.prompt(session, "ask");
    editor.decide = "cancel";
    await editor.prompt(session, "ask");
    expect(editor.permissions).toEqual(["t1", "t1", "t1"]);
    expect(editor.said).toEqual(["decided yes", "decided no", "decided no"]);
  });

  it("may leave the decision to others on the session's approvals", TIMES, async () => {
    using editor = await Editor.open(way, `session=others-${way}&role=coding`);
    editor.decide = "none";
    const session = await editor.start();
    const prompted = editor.prompt(session, "ask");
    const asked = await until("the request", 60_000, async () => {
      const found = await coordinator.stored("RELAY_EVENTS", `sessions.others-${way}.approvals`);
      return found.find(({ body }) => body["type"] === "approval.requested");
    });
    const { approval_id } = asked.body["payload"] as { readonly approval_id: string };
    const answer = { id: "x", type: "approval.granted", payload: { approval_id } };
    await coordinator.js.publish(`sessions.others-${way}.approvals`, JSON.stringify(answer));
    await prompted;
    expect(editor.said).toEqual(["decided yes"]);
  });

  it("cancels a prompt in progress", TIMES, async () => {
    using editor = await Editor.open(way);
    editor.decide = "none";
    const session = await editor.start();
    const prompted = editor.prompt(session, "ask");
    await until("the request", 60_000, () => editor.permissions.length > 0 || undefined);
    await editor.agent.notify("session/cancel", { sessionId: session });
    expect(await prompted).toMatchObject({ stopReason: expect.stringMatching(/^(cancelled|end_turn)$/) });
    const [result] = await coordinator.results(session.split(":")[0] ?? "", 1);
    expect(result?.body["id"]).toBeDefined();
    await editor.prompt(session, "after it");
    expect(editor.said.at(-1)).toMatch(/^prompt 2: after it$/);
  });

  it("reopens a session, sees the kept updates, and learns which are missing", TIMES, async ({ expect }) => {
    const query = `session=again-${way}&role=coding`;
    let session: string;
    let place: object | undefined;
    {
      using editor = await Editor.open(way, query);
      session = await editor.start();
      await editor.prompt(session, "one");
      await editor.prompt(session, "two");
      place = editor.updates.find(({ update }) => JSON.stringify(update).includes("prompt 1: one"))?._meta ?? undefined;
    }
    using whole = await Editor.open(way, query);
    const load = { sessionId: session, cwd: "/", mcpServers: [] };
    expect(await whole.agent.request("session/load", load)).toMatchObject({ _meta: { relay: { gaps: [] } } });
    // Over HTTP the response to session/load arrives on another stream than the session's updates.
    await expect.poll(() => whole.said).toEqual(["> one", "prompt 1: one", "> two", "prompt 2: two"]);
    using behind = await Editor.open(way, query);
    await behind.agent.request("session/load", { ...load, _meta: place as Record<string, unknown> });
    await expect.poll(() => behind.said).toEqual(["> two", "prompt 2: two"]);
    await behind.prompt(session, "recall");
    expect(behind.said.at(-1)).toBe("one, two");
  });
});
