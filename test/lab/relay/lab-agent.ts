import { WebSocket } from "ws";
import type { SessionTruth } from "./judge-relay.ts";

export interface LabAgentOptions {
  readonly session: string;
  readonly kind: SessionTruth["kind"];
  /** Called before each dial: `ws://HOST:PORT`. */
  readonly url: () => string;
  readonly random: () => number;
}

interface Call {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly prompt?: readonly { readonly text?: string }[] };
}

/** The shares of requests for which an agent thinks longer, answers twice, or answers in several parts. */
const SHARES = { slow: 0.1, twice: 0.2, parts: 0.3 };
const SLOW_MS = 1500;

/**
 * An agent that reconnects, whatever ends its connection, and records its requests. Each request has a nonce, which is
 * in each part of its answer.
 */
export class LabAgent {
  readonly asked = new Map<string, string[]>();
  readonly answered = new Set<string>();
  readonly #options: LabAgentOptions;
  readonly #timers = new Set<NodeJS.Timeout>();
  #socket: WebSocket | undefined;
  #isLeft = false;
  #nonces = 0;

  constructor(options: LabAgentOptions) {
    this.#options = options;
    this.#dial();
  }

  /** Cuts the connection at any byte, as a failing network would. */
  cut(): void {
    this.#socket?.terminate();
  }

  /** Dials once more while it is connected: the relay must close the older connection. */
  dialAgain(): void {
    if (!this.#isLeft) this.#dial();
  }

  leave(): void {
    this.#isLeft = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#socket?.terminate();
  }

  #dial(): void {
    const { session, kind, url } = this.#options;
    const target = `${url()}/acp/${session}/coding?agent_id=agent_${session}`;
    const socket = new WebSocket(target, kind === "acp" ? ["acp.v1"] : []);
    const before = this.#socket;
    this.#socket = socket;
    socket.on("error", () => {});
    socket.on("message", (data) => this.#came(socket, JSON.parse(data.toString()) as Call));
    socket.on("close", () => {
      before?.terminate();
      if (this.#socket === socket && !this.#isLeft) this.#later(100 + this.#options.random() * 400, () => this.#dial());
    });
    socket.on("open", () => before?.terminate());
  }

  #came(socket: WebSocket, { id, method, params }: Call): void {
    if (id === undefined || method === undefined) return;
    if (method === "initialize") this.#send(socket, id, { protocolVersion: 1, agentCapabilities: {} });
    else if (method === "session/new") this.#send(socket, id, { sessionId: "s-1" });
    else this.#asked(socket, id, params);
  }

  #asked(socket: WebSocket, id: string | number, params: Call["params"]): void {
    const work = this.#options.kind === "acp" ? (params?.prompt?.[0]?.text ?? "") : String(id);
    const nonce = `${this.#options.session}-${++this.#nonces}`;
    this.asked.set(work, [...(this.asked.get(work) ?? []), nonce]);
    const { random } = this.#options;
    const ms = random() < SHARES.slow ? SLOW_MS * random() : 20 * random();
    this.#later(ms, () => this.#answer(socket, id, nonce));
  }

  #answer(socket: WebSocket, id: string | number, nonce: string): void {
    const { kind, random } = this.#options;
    this.answered.add(nonce);
    if (kind === "acp") {
      const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: nonce } };
      this.#text(socket, { jsonrpc: "2.0", method: "session/update", params: { sessionId: "s-1", update } });
      this.#send(socket, id, { stopReason: "end_turn" });
      return;
    }
    const text = { type: "text", text: nonce };
    const use = { type: "tool_use", name: nonce, id: "tool_1", input: {} };
    const result = { role: "assistant", content: random() < SHARES.parts ? [text, use] : [text] };
    this.#send(socket, id, result);
    if (random() < SHARES.twice) this.#send(socket, id, result);
  }

  #send(socket: WebSocket, id: string | number, result: object): void {
    this.#text(socket, { jsonrpc: "2.0", id, result });
  }

  #text(socket: WebSocket, frame: object): void {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
  }

  #later(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (!this.#isLeft) act();
    }, ms);
    this.#timers.add(timer);
  }
}
