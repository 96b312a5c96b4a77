import {
  type AgentContext,
  agent,
  RequestError,
  type SessionUpdate,
  type Stream,
} from "@agentclientprotocol/sdk/experimental/v2";
import { WebSocket } from "ws";
import { until } from "../sidecar/sidecar.ts";

export interface Acp2AgentOptions {
  readonly session: string;
  /** The protocol version with which it answers. Default: 2. */
  readonly version?: number;
  /** The sessions that it can open again. */
  readonly known?: readonly string[];
}

/**
 * An agent of ACP version 2, made with the SDK, that dials in. Some prompts are commands: "quick" ends before it is
 * accepted, "ask" asks for a permission, "wait" works until it is cancelled, "refuse" and "fail" end with a refusal and
 * an error, "error" is not accepted, "gone" is never answered, since the connection breaks.
 */
export class Acp2Agent implements Disposable {
  /** The method of each request, with the session if the request names one. */
  readonly calls: string[] = [];
  readonly prompts: string[] = [];
  closed: number | undefined;
  readonly #socket: WebSocket;
  readonly #options: Acp2AgentOptions;
  #sessions = 0;
  #messages = 0;
  #cancel: () => void = () => {};

  private constructor(url: string, options: Acp2AgentOptions) {
    this.#options = options;
    this.#socket = new WebSocket(`${url}/acp/${options.session}/coding?agent_id=agent_2`, ["acp.v2"]);
    this.#socket.on("error", () => {});
    this.#socket.on("close", (code) => {
      this.closed = code;
    });
  }

  /** Resolves when the relay has initialized it. */
  static async dial(url: string, options: Acp2AgentOptions): Promise<Acp2Agent> {
    const peer = new Acp2Agent(url, options);
    peer.#serve();
    await until("the agent to be initialized", 60_000, () => peer.calls[0]);
    return peer;
  }

  #serve(): void {
    const { version = 2, known = [] } = this.#options;
    agent({ name: "peer" })
      .onRequest("initialize", () => {
        this.calls.push("initialize");
        return { protocolVersion: version, info: { name: "peer", version: "1" }, capabilities: { session: {} } };
      })
      .onRequest("session/new", () => {
        this.calls.push("session/new");
        return { sessionId: `${this.#options.session}-${++this.#sessions}` };
      })
      .onRequest("session/resume", async ({ params: { sessionId }, client }) => {
        this.calls.push(`session/resume ${sessionId}`);
        if (!known.includes(sessionId)) throw RequestError.invalidParams();
        await this.#update(client, sessionId, { sessionUpdate: "state_update", state: "idle" });
        return {};
      })
      .onRequest("session/prompt", async ({ params: { sessionId, prompt }, client }) => {
        const [block] = prompt;
        const text = block?.type === "text" ? String(block["text"]) : "";
        this.calls.push(`session/prompt ${sessionId}`);
        this.prompts.push(text);
        if (text === "error") throw new RequestError(-32000, "not now");
        if (text === "gone") this.#socket.terminate();
        const messageId = `m-${++this.#messages}`;
        const work = () => this.#work(client, sessionId, messageId, text);
        if (text === "quick") await work();
        else setImmediate(() => void work().catch(() => {}));
        return { messageId };
      })
      .onNotification("session/cancel", () => this.#cancel())
      .connect(this.#stream());
  }

  #stream(): Stream {
    const socket = this.#socket;
    const readable = new ReadableStream({
      start: (controller) => {
        socket.on("message", (data) => controller.enqueue(JSON.parse(data.toString())));
        socket.on("close", () => controller.close());
      },
    });
    const writable = new WritableStream({
      write: (message) => {
        if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
      },
    });
    return { readable, writable };
  }

  async #work(client: AgentContext, sessionId: string, messageId: string, text: string): Promise<void> {
    const send = (update: SessionUpdate) => this.#update(client, sessionId, update);
    const say = (said: string) =>
      send({
        sessionUpdate: "agent_message_chunk",
        messageId: `a-${messageId}`,
        content: { type: "text", text: said },
      });
    const end = (stopReason: string, more = {}) =>
      send({ sessionUpdate: "state_update", state: "idle", stopReason, ...more } as SessionUpdate);
    await send({ sessionUpdate: "user_message", messageId, content: [{ type: "text", text }] });
    await send({ sessionUpdate: "state_update", state: "running" });
    if (text === "wait") {
      await new Promise<void>((resolve) => {
        this.#cancel = resolve;
      });
      return await end("cancelled");
    }
    if (text === "refuse") return await end("refusal");
    if (text === "fail") return await end("error", { error: { code: 7, message: "no model" } });
    if (text === "ask") {
      await send({ sessionUpdate: "state_update", state: "requires_action" });
      const { outcome } = await client.request("session/request_permission", {
        ...{ sessionId, title: "Run it?", subject: { type: "command", command: "make", cwd: "/" } },
        options: [
          { optionId: "yes", name: "Yes", kind: "allow_once" },
          { optionId: "no", name: "No", kind: "reject_once" },
        ],
      });
      await send({ sessionUpdate: "state_update", state: "running" });
      await say(`decided ${"optionId" in outcome ? String(outcome["optionId"]) : outcome.outcome}`);
      return await end("end_turn");
    }
    await say("you said ");
    await say(text);
    return await end("end_turn");
  }

  async #update(client: AgentContext, sessionId: string, update: SessionUpdate): Promise<void> {
    await client.notify("session/update", { sessionId, update });
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
  }
}
