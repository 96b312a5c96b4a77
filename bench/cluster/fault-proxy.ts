import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { request as requestTls } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { ClusterAccess } from "../../internal/kube/access/credentials.ts";

/**
 * The fault of the network from now on. `reset` and `half-line` break open connections, `silent` drops the data of
 * watches, open ones included, and the others refuse new requests.
 */
export type NetworkFault = "none" | "reset" | "half-line" | "watch-429" | "watch-503" | "list-503" | "silent";

/** A plain HTTP proxy in front of an API server. It injects faults, and counts the clients' connections. */
export class FaultProxy implements AsyncDisposable {
  /** The clients' connections since the start. */
  accepted = 0;
  #fault: NetworkFault = "none";
  readonly #access: ClusterAccess;
  readonly #server = createServer((from, to) => this.#pass(from, to));
  readonly #sockets = new Set<Socket>();
  readonly #watches = new Set<ServerResponse>();

  private constructor(access: ClusterAccess) {
    this.#access = access;
    this.#server.on("connection", (socket) => {
      this.accepted++;
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  static async before(access: ClusterAccess): Promise<FaultProxy> {
    const proxy = new FaultProxy(access);
    await once(proxy.#server.listen(0, "127.0.0.1"), "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  set(fault: NetworkFault): void {
    this.#fault = fault;
    if (fault === "reset") for (const socket of this.#sockets) socket.resetAndDestroy();
    if (fault === "half-line")
      for (const watch of this.#watches) watch.write('{"type":"ADDED","obj', () => watch.destroy());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(from: IncomingMessage, to: ServerResponse): void {
    const isWatch = /[?&]watch=(?:true|1)/.test(from.url ?? "");
    const status = this.#refusal(isWatch);
    if (status !== undefined) {
      to.writeHead(status, { "content-type": "application/json", "retry-after": "1" });
      to.end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code: status, message: "not now" }));
      return;
    }
    const { server, tls, headers } = this.#access;
    const { host: _, authorization: __, ...own } = from.headers;
    const send = new URL(server).protocol === "https:" ? requestTls : request;
    const forward = send(`${server}${from.url}`, { method: from.method, headers: { ...own, ...headers }, ...tls });
    forward.on("error", () => to.destroy());
    to.on("close", () => forward.destroy());
    from.pipe(forward);
    forward.on("response", (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      to.flushHeaders();
      if (isWatch) this.#watches.add(to);
      to.on("close", () => this.#watches.delete(to));
      answer.on("error", () => to.destroy());
      answer.on("end", () => to.end());
      answer.on("data", (chunk: Buffer) => {
        // A watch that lost data in the silence stays silent after it.
        if (this.#fault === "silent" && isWatch) silent.add(to);
        if (!silent.has(to)) to.write(chunk);
      });
    });
  }

  #refusal(isWatch: boolean): number | undefined {
    if (this.#fault === "watch-429" && isWatch) return 429;
    if (this.#fault === "watch-503" && isWatch) return 503;
    return this.#fault === "list-503" && !isWatch ? 503 : undefined;
  }
}

const silent = new WeakSet<ServerResponse>();
