import { timingSafeEqual } from "node:crypto";
import { type ContextKey, createContextKey } from "@connectrpc/connect";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import type { ReadResult } from "../../files/allowed-files.ts";
import type { ListenAddress } from "../../rpc/port/listen.ts";
import { plainServing } from "../../rpc/routes/plain-serving.ts";
import type { Route } from "../../rpc/routes/route.ts";
import type { CallContext } from "../../rpc/server/call-facts.ts";
import { RpcServer } from "../../rpc/server/server.ts";

/** Reads files for a caller with a token. */
export interface DoorFiles {
  read(path: string): ReadResult;
}

/** A token that opens the door, until it is disposed of. */
export interface DoorPass extends Disposable {
  /** Resolves once the token's holder has requested and got the list of tools. */
  readonly listed: Promise<void>;
}

interface Caller {
  readonly files: DoorFiles;
  readonly listed: PromiseWithResolvers<void>;
}

export interface DoorOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The prefix of readable paths in the tool's description, e.g. `/docs`. */
  readonly prefix: string;
}

const PATH = "/mcp";
const MAX_BODY_BYTES = 64 * 1024;
const MAX_CONNECTIONS = 64;
const ALLOWED = { allowHosts: [], isFixed: true };

const callerKey: ContextKey<Caller | undefined> = createContextKey<Caller | undefined>(undefined, {
  description: "access that the token of a request grants",
});

/**
 * `read_file` as a tool of the Model Context Protocol over HTTP, at `/mcp`. Every request needs a bearer token, and a
 * `Host` and `Origin` of this machine. The server has one tool with one argument, no resources and no prompts, and
 * keeps no sessions.
 */
export class Door implements Task {
  readonly #options: DoorOptions;
  readonly #callers = new Map<string, Caller>();
  readonly #server: RpcServer;

  constructor(deps: { readonly clock: Clock; readonly logger: Logger }, options: DoorOptions) {
    this.#options = options;
    const route: Route = {
      ...{ path: PATH, methods: ["POST"], service: "desk.door", maxBodyBytes: MAX_BODY_BYTES },
      refusalHeaders: ({ kind }) => (kind === "unauthenticated" ? { "www-authenticate": "Bearer" } : {}),
      handle: (request, call) => this.#answer(request, call),
    };
    this.#server = new RpcServer(deps, {
      ...{ host: options.host, port: options.port, hostCheck: ALLOWED, graceMs: 0 },
      routes: () => {},
      gates: [(context) => this.#gate(context)],
      plain: plainServing(deps.clock, { routes: [route] }),
      limits: { maxConnections: MAX_CONNECTIONS },
    });
  }

  /** The address on which the door listens; rejects when it cannot listen. */
  get listening(): Promise<ListenAddress> {
    return this.#server.listening;
  }

  /** Lets the holder of a token read. */
  admit(token: string, files: DoorFiles): DoorPass {
    const listed = Promise.withResolvers<void>();
    this.#callers.set(token, { files, listed });
    return { listed: listed.promise, [Symbol.dispose]: () => void this.#callers.delete(token) };
  }

  /** @throws DomainError `unavailable` when it cannot listen on the address */
  run(signal: AbortSignal): Promise<void> {
    return this.#server.run(signal);
  }

  /** Admits a request with a known token, before its body is read. */
  #gate({ requestHeader, values }: CallContext): void {
    const caller = this.#callerOf(requestHeader.get("authorization"));
    if (caller === undefined) throw new DomainError("unauthenticated", "the request has no token that is known here");
    values.set(callerKey, caller);
  }

  async #answer(request: Request, { values }: CallContext): Promise<Response> {
    const caller = values.get(callerKey);
    const body = await request.text().catch((err: unknown) => {
      if (err instanceof DomainError && err.kind === "exhausted") return undefined;
      throw err;
    });
    if (caller === undefined || body === undefined) return new Response(null, { status: 413 });
    const headers = new Headers();
    for (const name of ["content-type", "accept", "mcp-protocol-version", "mcp-method", "mcp-name"]) {
      const value = request.headers.get(name);
      if (value !== null) headers.set(name, value);
    }
    // Nothing here ever changes, so a subscription to changes is refused at once and no response stays open.
    const handler = createMcpHandler(() => this.#mcpServer(caller.files), { keepAliveMs: 0, maxSubscriptions: 0 });
    try {
      const answer = await handler.fetch(new Request(`http://localhost${PATH}`, { method: "POST", headers, body }));
      const bytes = await answer.arrayBuffer();
      if (answer.ok && methodOf(body) === "tools/list") caller.listed.resolve();
      return new Response(bytes, { status: answer.status, headers: answer.headers });
    } finally {
      await handler.close();
    }
  }

  /** Compares with every token, each in constant time, so that the time reveals no part of a token. */
  #callerOf(authorization: string | null): Caller | undefined {
    const given = Buffer.from(authorization ?? "");
    let found: Caller | undefined;
    for (const [token, caller] of this.#callers) {
      const wanted = Buffer.from(`Bearer ${token}`);
      if (given.length === wanted.length && timingSafeEqual(given, wanted)) found = caller;
    }
    return found;
  }

  #mcpServer(files: DoorFiles): McpServer {
    const capabilities = { tools: { listChanged: false } };
    const server = new McpServer({ name: "desk", version: "1" }, { capabilities });
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

function methodOf(body: string): unknown {
  try {
    return (JSON.parse(body) as { readonly method?: unknown } | null)?.method;
  } catch {
    return undefined;
  }
}
