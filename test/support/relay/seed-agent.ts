import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { until } from "../sidecar/sidecar.ts";

export interface SeedAgentOptions {
  readonly session: string;
  readonly role?: string;
  readonly agent?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly protocols?: readonly string[];
  /** The agent's certificate and key, and the relay's CA. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
}

/** A frame as received, and parsed. */
export interface ReceivedFrame {
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** An agent that dials in and acts as the test says. */
export class SeedAgent implements Disposable {
  readonly socket: WebSocket;
  readonly frames: ReceivedFrame[] = [];
  /** The answer that opened the connection. */
  opened: IncomingMessage | undefined;
  closed: { readonly code: number; readonly reason: string } | undefined;
  /** Answers each request at once; undefined: the test answers. */
  answer: ((request: ReceivedFrame["value"]) => object | undefined) | undefined;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("upgrade", (response) => {
      this.opened = response;
    });
    socket.on("message", (data) => this.#came(data.toString()));
    socket.on("close", (code, reason) => {
      this.closed = { code, reason: reason.toString() };
    });
    socket.on("error", () => {});
  }

  /** Resolves with the connection's first frame, or once it is open if the dialect has none. */
  static async dial(url: string, options: SeedAgentOptions): Promise<SeedAgent> {
    const agent = SeedAgent.begin(url, options);
    const first = () => {
      if (agent.closed) throw new Error(`the relay closed the connection: ${JSON.stringify(agent.closed)}`);
      return agent.frames[0];
    };
    await until("the first frame", 60_000, first);
    return agent;
  }

  static begin(url: string, options: SeedAgentOptions) {
    const { session, role = "coding", agent = "agent_abc", headers, protocols, tls } = options;
    const target = `${url}/acp/${session}/${role}?agent_id=${agent}`;
    return new SeedAgent(new WebSocket(target, [...(protocols ?? [])], { headers: { ...headers }, ...tls }));
  }

  /** The received requests, in order. */
  get requests(): readonly ReceivedFrame[] {
    return this.frames.filter(({ value }) => value["method"] !== undefined);
  }

  request(number: number): Promise<ReceivedFrame> {
    return until(`request ${number}`, 60_000, () => this.requests[number - 1]);
  }

  send(value: object | string): void {
    this.socket.send(typeof value === "string" ? value : JSON.stringify(value));
  }

  reply(id: unknown, result: object): void {
    this.send({ jsonrpc: "2.0", id, result });
  }

  end(): Promise<{ readonly code: number; readonly reason: string }> {
    return until("the connection's end", 60_000, () => this.closed);
  }

  #came(text: string): void {
    const value = JSON.parse(text) as ReceivedFrame["value"];
    this.frames.push({ text, value });
    const result = value["method"] === undefined ? undefined : this.answer?.(value);
    if (result !== undefined) this.reply(value["id"], result);
  }

  [Symbol.dispose](): void {
    this.socket.terminate();
  }
}

/** The result of a sampling request with one text. */
export function textResult(text: string): object {
  return { role: "assistant", content: [{ type: "text", text }] };
}

/** The status with which an upgrade is refused. @throws if it is accepted */
export function refusalStatus(
  url: string,
  { headers = {}, protocols = [] }: { headers?: Record<string, string>; protocols?: string[] } = {},
): Promise<number> {
  const socket = new WebSocket(url, protocols, { headers });
  return new Promise<number>((resolve, reject) => {
    socket.on("unexpected-response", (_request, response) => {
      resolve(response.statusCode ?? 0);
      response.resume();
    });
    socket.on("open", () => {
      socket.terminate();
      reject(new Error("the upgrade was accepted"));
    });
    socket.on("error", () => {});
  });
}
