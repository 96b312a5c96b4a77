import { WebSocket } from "ws";

export interface FaithfulOptions {
  readonly session: string;
  readonly agent: string;
  /** Called before each dial: `ws://HOST:PORT`. */
  readonly url: () => string;
  /** The result of a request, by its id; undefined: none for now. */
  readonly answer: (id: string) => object | undefined;
}

/** An agent of the seed's dialect that reconnects, whatever ends its connection. */
export class FaithfulAgent implements Disposable {
  /** The ids of the received requests, in order. */
  readonly asked: string[] = [];
  readonly #options: FaithfulOptions;
  #socket: WebSocket | undefined;
  #isLeft = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FaithfulOptions) {
    this.#options = options;
    this.#dial();
  }

  /** Sends the result of a request over the open connection. */
  reply(id: string, result: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
  }

  /** Cuts the connection, as a failing network would. */
  cut(): void {
    this.#socket?.terminate();
  }

  #dial(): void {
    const { session, agent, url, answer } = this.#options;
    const socket = new WebSocket(`${url()}/acp/${session}/coding?agent_id=${agent}`);
    this.#socket = socket;
    socket.on("error", () => {});
    socket.on("message", (data) => {
      const { id, method } = JSON.parse(data.toString()) as { readonly id?: string; readonly method?: string };
      if (method !== "sampling/createMessage" || id === undefined) return;
      this.asked.push(id);
      const result = answer(id);
      if (result !== undefined && socket.readyState === WebSocket.OPEN) {
        socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
      }
    });
    socket.on("close", () => {
      if (!this.#isLeft) this.#timer = setTimeout(() => this.#dial(), 100 + Math.random() * 200);
    });
  }

  [Symbol.dispose](): void {
    this.#isLeft = true;
    clearTimeout(this.#timer);
    this.#socket?.terminate();
  }
}
