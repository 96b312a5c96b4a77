import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { objectOf } from "../../internal/base/json-fields.ts";

/** Our tools and resources, which replace those that the suite expects. */
interface StandIns {
  /** By name. */
  readonly tools: Readonly<Record<string, { readonly name: string; readonly arguments: object }>>;
  /** By URI. */
  readonly resources: Readonly<Record<string, string>>;
}

/**
 * Lets callers without a token reach a threads server: adds a token, replaces the suite's tools and resources with
 * ours, and changes nothing else, not even the Host header.
 */
export class BearerProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: URL;
  readonly #token: () => string;
  readonly #standIns: StandIns;

  private constructor(target: string, token: () => string, standIns: StandIns) {
    this.#target = new URL(target);
    this.#token = token;
    this.#standIns = standIns;
    this.#server = createServer((req, res) => void this.#pass(req, res));
  }

  static async open(target: string, token: () => string, standIns: StandIns): Promise<BearerProxy> {
    const proxy = new BearerProxy(target, token, standIns);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #pass(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const given = Buffer.concat(parts).toString("utf8");
    const { body, name } = this.#ours(given);
    const headers: OutgoingHttpHeaders = { ...req.headers, authorization: `Bearer ${this.#token()}` };
    delete headers["transfer-encoding"];
    if (req.method === "POST") headers["content-length"] = String(Buffer.byteLength(body));
    if (name !== undefined && headers["mcp-name"] !== undefined) headers["mcp-name"] = name;
    const { hostname: host, port } = this.#target;
    const sent = request({ host, port, method: req.method, path: req.url, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    res.on("close", () => sent.destroy());
    sent.on("error", () => res.destroy());
    sent.end(req.method === "POST" ? body : undefined);
  }

  #ours(given: string): { readonly body: string; readonly name?: string } {
    const message = parsed(given);
    const params = objectOf(message["params"]);
    const { name, uri } = params as { readonly name?: string; readonly uri?: string };
    const tool = message["method"] === "tools/call" ? this.#standIns.tools[name ?? ""] : undefined;
    if (tool !== undefined) {
      return { body: JSON.stringify({ ...message, params: { ...params, ...tool } }), name: tool.name };
    }
    const resource = message["method"] === "resources/read" ? this.#standIns.resources[uri ?? ""] : undefined;
    if (resource === undefined) return { body: given };
    return { body: JSON.stringify({ ...message, params: { ...params, uri: resource } }), name: resource };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return {};
  }
}
