import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { request } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { ClusterAccess } from "../../../internal/kube/access/credentials.ts";

/** The faults of a request. The first group replaces the request, the second affects the answer to a completed one. */
const REFUSALS = ["throttled", "broken", "gone", "full", "page", "empty", "other", "reset"] as const;
const LOSSES = ["half", "lost", "late"] as const;
type Fault = (typeof REFUSALS)[number] | (typeof LOSSES)[number];

const LATE_MS = 3_000;

/** Plain HTTP in front of an API server that fails at random while `share` is above 0. */
export class FaultyApi implements AsyncDisposable {
  /** The share of requests that fail. */
  share = 0;
  readonly counts = new Map<string, number>();
  readonly #access: ClusterAccess;
  readonly #random: () => number;
  readonly #server = createServer((from, to) => this.#pass(from, to));
  readonly #sockets = new Set<Socket>();

  private constructor(access: ClusterAccess, random: () => number) {
    this.#access = access;
    this.#random = random;
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  static async before(access: ClusterAccess, random: () => number): Promise<FaultyApi> {
    const api = new FaultyApi(access, random);
    await once(api.#server.listen(0, "127.0.0.1"), "listening");
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #fault(): Fault | undefined {
    if (this.#random() >= this.share) return undefined;
    const all = [...REFUSALS, ...LOSSES];
    const fault = all[Math.floor(this.#random() * all.length)] ?? "reset";
    this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1);
    return fault;
  }

  #pass(from: IncomingMessage, to: ServerResponse): void {
    const fault = this.#fault();
    const isOwn = fault === "gone" && from.method !== "GET"; // only reads have a version that can be too old
    if (fault !== undefined && refuse(isOwn ? "broken" : fault, to)) return;
    const { server, tls, headers } = this.#access;
    const { host: _, authorization: __, ...own } = from.headers;
    const forward = request(`${server}${from.url}`, { method: from.method, headers: { ...own, ...headers }, ...tls });
    forward.on("error", () => to.destroy());
    to.on("close", () => forward.destroy());
    from.pipe(forward);
    forward.on("response", (answer) => void relay(answer, to, fault).catch(() => to.destroy()));
  }
}

/** Answers in place of the API server; false: the fault is of the other group. */
function refuse(fault: Fault, to: ServerResponse): boolean {
  const status = (code: number, reason: string, message: string) => {
    to.writeHead(code, { "content-type": "application/json", ...(code === 429 && { "retry-after": "1" }) });
    to.end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message }));
    return true;
  };
  const body = (text: string) => {
    to.writeHead(200, { "content-type": "application/json" }).end(text);
    return true;
  };
  switch (fault) {
    case "throttled":
      return status(429, "TooManyRequests", "too many requests, please try again later");
    case "broken":
      return status(500, "InternalError", "an error on the server");
    case "gone":
      return status(410, "Expired", "too old resource version");
    case "full":
      return status(500, "", "etcdserver: mvcc: database space exceeded");
    case "page":
      return body("<html><body>Bad gateway</body></html>\n");
    case "empty":
      return body("");
    case "other":
      return body("{}\n");
    case "reset":
      to.socket?.resetAndDestroy();
      return true;
    default:
      return false;
  }
}

/** Passes an answer on, without the part that the fault drops. */
async function relay(answer: IncomingMessage, to: ServerResponse, fault: Fault | undefined): Promise<void> {
  if (fault === "lost") return void to.destroy();
  if (fault === "late") await new Promise((resolve) => setTimeout(resolve, LATE_MS));
  const { "content-length": length, ...headers } = answer.headers;
  to.writeHead(answer.statusCode ?? 502, fault === "half" || length === undefined ? headers : answer.headers);
  to.flushHeaders();
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (fault !== "half") to.write(chunk);
    else return void to.write(chunk.subarray(0, chunk.length / 2), () => to.destroy());
  }
  to.end();
}
