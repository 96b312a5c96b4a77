import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { aborted } from "../../base/abort.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import type { Task } from "../../base/task-group.ts";
import type { ReadResult } from "../../files/allowed-files.ts";
import { hostRefusal } from "../../rpc/server/host-check.ts";

/** What a caller with a token reads with. */
export interface DoorFiles {
  read(path: string): ReadResult;
}

export interface DoorOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** As tools are described to a model, e.g. `/docs`. */
  readonly prefix: string;
}

const PATH = "/mcp";
const MAX_BODY_BYTES = 64 * 1024;
const MAX_CONNECTIONS = 64;
const ALLOWED = { allowHosts: [], isFixed: true };

/**
 * `read_file` as a tool of the Model Context Protocol over HTTP, at `/mcp`. Every request needs a bearer token, and a
 * `Host` and `Origin` of this machine. It has one tool with one argument, no resources and no prompts, and keeps no
 * sessions.
 */
export class Door implements Task {
  readonly #options: DoorOptions;
  readonly #callers = new Map<string, DoorFiles>();
  readonly #listening = Promise.withResolvers<AddressInfo>();

  constructor(options: DoorOptions) {
    this.#options = options;
    this.#listening.promise.catch(() => {}); // `run` throws the same
  }

  /** Where it listens. */
  get listening(): Promise<AddressInfo> {
    return this.#listening.promise;
  }

  /** Lets the holder of a token read, until it is disposed of. */
  admit(token: string, files: DoorFiles): Disposable {
    this.#callers.set(token, files);
    return { [Symbol.dispose]: () => void this.#callers.delete(token) };
  }

  /** @throws DomainError `unavailable` when the address cannot be listened on */
  async run(signal: AbortSignal): Promise<void> {
    const { host, port } = this.#options;
    const server = createServer((req, res) => {
      this.#serve(req, res).catch(() => res.destroy());
    });
    server.maxConnections = MAX_CONNECTIONS;
    await new Promise<void>((resolve, reject) => {
      server.once("error", (cause) => {
        const failure = new DomainError("unavailable", `cannot listen on ${host}:${port}: ${errorText(cause)}`, {
          cause,
        });
        this.#listening.reject(failure);
        reject(failure);
      });
      server.listen(port, host, resolve);
    });
    this.#listening.resolve(server.address() as AddressInfo);
    await aborted(signal);
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { origin, host, authorization } = req.headers;
    if (hostRefusal(host, origin, ALLOWED) !== undefined) return refuse(res, 403);
    const files = this.#filesOf(authorization);
    if (files === undefined) return refuse(res, 401, { "www-authenticate": "Bearer" });
    if (req.url !== PATH) return refuse(res, 404);
    if (req.method !== "POST") return refuse(res, 405, { allow: "POST" });
    const body = await bodyOf(req);
    if (body === undefined) return refuse(res, 413, { connection: "close" });
    const headers = new Headers();
    for (const name of ["content-type", "accept", "mcp-protocol-version", "mcp-method", "mcp-name"]) {
      const value = req.headers[name];
      if (typeof value === "string") headers.set(name, value);
    }
    const handler = createMcpHandler(() => this.#mcpServer(files), { keepAliveMs: 0 });
    const answer = await handler.fetch(new Request(`http://localhost${PATH}`, { method: "POST", headers, body }));
    res.writeHead(answer.status, Object.fromEntries(answer.headers));
    res.end(Buffer.from(await answer.arrayBuffer()));
    await handler.close();
  }

  /** Compares with each token in the same time. */
  #filesOf(authorization: string | undefined): DoorFiles | undefined {
    const given = Buffer.from(authorization ?? "");
    let found: DoorFiles | undefined;
    for (const [token, files] of this.#callers) {
      const wanted = Buffer.from(`Bearer ${token}`);
      if (given.length === wanted.length && timingSafeEqual(given, wanted)) found = files;
    }
    return found;
  }

  #mcpServer(files: DoorFiles): McpServer {
    const server = new McpServer({ name: "desk", version: "1" });
    const config = {
      title: "Read a file",
      description: `Reads a text file whose path begins with ${this.#options.prefix}/.`,
      inputSchema: z.strictObject({ path: z.string() }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    };
    server.registerTool("read_file", config, async ({ path }) => {
      const result = files.read(path);
      if (result.ok) return { content: [{ type: "text", text: result.text }] };
      return { content: [{ type: "text", text: `cannot read it: ${result.reason}` }], isError: true };
    });
    return server;
  }
}

function refuse(res: ServerResponse, status: number, headers: Readonly<Record<string, string>> = {}): void {
  res.writeHead(status, { "content-length": "0", ...headers }).end();
}

/** Undefined: it is too large. */
async function bodyOf(req: IncomingMessage): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of req as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}
