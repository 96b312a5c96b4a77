import { hash } from "node:crypto";
import { createMcpHandler, InMemoryServerEventBus, type McpHttpHandler } from "@modelcontextprotocol/server";
import { bearerOf } from "../../auth/bearer.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { parseStrictJson } from "../../base/strict-json.ts";
import type { ServerRequest, ServerResponse12 } from "../../rpc/port/request.ts";
import { type HostCheck, hostRefusal } from "../../rpc/server/host-check.ts";
import type { Changes } from "../domain/changes.ts";
import { type Calls, errorBody } from "./calls.ts";
import { correlationIdOf } from "./correlation.ts";
import type { TokenHolds } from "./holds.ts";
import { mcpServer } from "./mcp-server.ts";
import { authorityOf, closedSignal, readBody, send, sendResponse } from "./node-http.ts";
import type { Proof, ThreadsVerifier } from "./verifier.ts";

export interface McpDeps {
  readonly calls: Calls;
  readonly verifier: ThreadsVerifier;
  readonly holds: TokenHolds;
  readonly changes: Changes;
  readonly logger: Logger;
  readonly version: string;
}

const PATH = "/v1/mcp";
const WELL_KNOWN = "/.well-known/oauth-protected-resource/v1/mcp";

/** What this endpoint answers. */
export const MCP_PATHS: ReadonlySet<string> = new Set([PATH, WELL_KNOWN]);

const MAX_BODY = 512 * 1024;
const MAX_HANDLERS = 2000;
const MAX_STREAMS = 16;

interface Handler {
  readonly mcp: McpHttpHandler;
  readonly end: () => void;
}

/**
 * `/v1/mcp`: one handler for each token, so that a stream hears only what its owner may see and ends with the token.
 */
export class McpEndpoint {
  readonly #deps: McpDeps;
  readonly #hostCheck: HostCheck;
  readonly #handlers = new Map<string, Handler>();

  constructor(deps: McpDeps, hostCheck: HostCheck) {
    this.#deps = deps;
    this.#hostCheck = hostCheck;
  }

  /** Answers a request that is no RPC. */
  async answer(req: ServerRequest, res: ServerResponse12): Promise<void> {
    const path = req.url?.split("?", 1)[0] ?? "";
    if (path !== PATH && path !== WELL_KNOWN) return send(res, 404, { error: "not found" });
    const refusal = hostRefusal(authorityOf(req), originOf(req), this.#hostCheck);
    if (refusal !== undefined) return send(res, 403, { error: refusal });
    if (path === WELL_KNOWN) {
      const resource = `http://${authorityOf(req)}${PATH}`;
      return send(res, 200, { resource, bearer_methods_supported: ["header"] });
    }
    let proof: Proof;
    let token: string;
    try {
      token = bearerOf(authorizationOf(req));
      proof = this.#deps.verifier.verify(token);
      this.#deps.holds.check(proof);
    } catch (err) {
      if (!(err instanceof DomainError)) throw err;
      const known = new DomainError("unauthenticated", err.message, { fields: { code: "UNAUTHORIZED" } });
      const challenge = `Bearer resource_metadata="http://${authorityOf(req)}${WELL_KNOWN}", error="invalid_token"`;
      return send(res, 401, errorBody(known), { "www-authenticate": challenge });
    }
    await this.#serve(req, res, proof, token);
  }

  /** Ends all streams. */
  close(): void {
    for (const { end } of [...this.#handlers.values()]) end();
  }

  async #serve(req: ServerRequest, res: ServerResponse12, proof: Proof, token: string): Promise<void> {
    const signal = closedSignal(req, res);
    const init: RequestInit = { method: req.method ?? "GET", headers: headersOf(req), signal };
    let parsedBody: unknown;
    if (req.method === "POST") {
      const body = await readBody(req, MAX_BODY);
      if (body === undefined) return send(res, 413, { error: `the body is larger than ${MAX_BODY} bytes` });
      try {
        parsedBody = parseStrictJson(new TextDecoder("utf-8", { fatal: true }).decode(body));
      } catch {
        const error = { code: -32_700, message: "the body is not JSON, or an object has a duplicate key" };
        return send(res, 400, { jsonrpc: "2.0", id: null, error });
      }
      init.body = new Uint8Array(body);
    }
    const request = new Request(`http://${authorityOf(req)}${req.url ?? ""}`, init);
    const { mcp } = this.#handlerOf(proof, token);
    const response = await mcp.fetch(request, parsedBody === undefined ? {} : { parsedBody });
    await sendResponse(res, response, signal);
  }

  #handlerOf(proof: Proof, token: string): Handler {
    const key = hash("sha256", token, "base64");
    const known = this.#handlers.get(key);
    if (known !== undefined) {
      this.#handlers.delete(key);
      this.#handlers.set(key, known);
      return known;
    }
    const handler = this.#newHandler(key, proof);
    this.#handlers.set(key, handler);
    for (const [, oldest] of this.#handlers) {
      if (this.#handlers.size <= MAX_HANDLERS) break;
      oldest.end();
    }
    return handler;
  }

  #newHandler(key: string, proof: Proof): Handler {
    const { calls, changes, holds, logger, version } = this.#deps;
    const bus = new InMemoryServerEventBus();
    const mcp = createMcpHandler(
      ({ requestInfo }) => {
        const correlationId = (given: unknown) => correlationIdOf(given ?? requestInfo?.headers.get("traceparent"));
        return mcpServer({ calls, logger, version, proof, correlationId });
      },
      {
        bus,
        maxSubscriptions: MAX_STREAMS,
        maxRequestBodySize: MAX_BODY,
        onerror: (err) => logger.debug({ err }, "mcp"),
      },
    );
    const heard = changes.subscribe((change) => {
      if (change !== undefined && change.workspace !== proof.workspace) return;
      if (change?.agents !== undefined && !change.agents.includes(proof.agent)) return;
      bus.publish({ kind: "resource_updated", uri: "inbox://me" });
      if (change?.threadId !== undefined) bus.publish({ kind: "resource_updated", uri: `thread://${change.threadId}` });
    });
    const end = () => {
      heard[Symbol.dispose]();
      held[Symbol.dispose]();
      this.#handlers.delete(key);
      mcp.close().catch((err: unknown) => logger.debug({ err }, "an MCP stream could not be ended"));
    };
    const held = holds.hold(proof, end);
    return { mcp, end };
  }
}

function headersOf({ headers }: ServerRequest): Headers {
  const all = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(":") || name === "authorization" || value === undefined) continue;
    for (const one of [value].flat()) all.append(name, one);
  }
  return all;
}

function authorizationOf({ rawHeaders }: ServerRequest): readonly string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === "authorization");
}

function originOf({ headers }: ServerRequest): string | undefined {
  return typeof headers["origin"] === "string" ? headers["origin"] : undefined;
}
