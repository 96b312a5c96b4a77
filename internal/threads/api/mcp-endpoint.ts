import { hash } from "node:crypto";
import { createMcpHandler, InMemoryServerEventBus, type McpHttpHandler } from "@modelcontextprotocol/server";
import { bearerOf } from "../../auth/bearer.ts";
import { objectOf } from "../../base/json-fields.ts";
import type { Logger } from "../../base/logger.ts";
import { parseStrictJson } from "../../base/strict-json.ts";
import { requestBody } from "../../rpc/routes/request-body.ts";
import type { Route, RouteAddress } from "../../rpc/routes/route.ts";
import { authorizationKey, type CallContext } from "../../rpc/server/call-facts.ts";
import { threadsError } from "../domain/faults.ts";
import type { Audience } from "../service/audience.ts";
import { errorBody, type OperationCalls } from "./calls.ts";
import type { Proof } from "./claims.ts";
import { correlationIdOf } from "./correlation.ts";
import type { TokenHolds } from "./holds.ts";
import { mcpServer, THREAD_URI } from "./mcp-server.ts";
import { MCP_SERVICE, OAUTH_SERVICE, provenOf } from "./threads-gate.ts";

export interface McpDeps {
  readonly calls: OperationCalls;
  readonly holds: TokenHolds;
  /** Reports the changes that a caller may see. */
  readonly audience: Audience;
  readonly logger: Logger;
  readonly version: string;
}

const PATH = "/v1/mcp";
const WELL_KNOWN = "/.well-known/oauth-protected-resource/v1/mcp";
const MAX_BODY = 512 * 1024;
const MAX_HANDLERS = 2000;
const MAX_STREAMS = 16;
/**
 * The most threads of a caller that are reported when changes may have been missed. Any others are reported only when
 * they change.
 */
const MAX_WATCHED = 1000;
/** The SDK's handler refuses the methods that it does not support. */
const METHODS = ["POST", "GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"];

interface Handler {
  readonly mcp: McpHttpHandler;
  /** The ids of the threads that the caller has subscribed to. */
  readonly watched: Set<string>;
  readonly end: () => void;
}

/**
 * Serves `/v1/mcp` with one handler for each token, so that a stream reports only what its owner may see, and ends with
 * the token.
 */
export class McpEndpoint {
  readonly #deps: McpDeps;
  readonly #handlers = new Map<string, Handler>();

  constructor(deps: McpDeps) {
    this.#deps = deps;
  }

  /** `/v1/mcp` for callers with a valid token, and the OAuth metadata of the resource for all callers. */
  get routes(): readonly Route[] {
    const wellKnown = { service: OAUTH_SERVICE, path: WELL_KNOWN, methods: ["GET"] };
    return [
      { ...REFUSALS, ...wellKnown, handle: ({ url }) => json(200, resourceAt(url)) },
      {
        ...{ ...REFUSALS, service: MCP_SERVICE, path: PATH, methods: METHODS, maxBodyBytes: MAX_BODY },
        handle: (request, call) => this.#answer(request, call),
      },
    ];
  }

  /** Ends all streams. */
  close(): void {
    for (const { end } of [...this.#handlers.values()]) end();
  }

  async #answer(request: Request, call: CallContext): Promise<Response> {
    const { url, method, signal } = request;
    const headers = new Headers(request.headers);
    headers.delete("authorization");
    const { mcp, watched } = this.#handlerOf(provenOf(call.values), bearerOf(call.values.get(authorizationKey)));
    if (method !== "POST") return await mcp.fetch(new Request(url, { method, headers, signal }));
    const body = await requestBody(request);
    if (body === undefined) return json(413, { error: `the body is larger than ${MAX_BODY} bytes` });
    const parsed = parsedOf(body);
    if (parsed === undefined) {
      const error = { code: -32_700, message: "the body is not JSON, or an object has a duplicate key" };
      return json(400, { jsonrpc: "2.0", id: null, error });
    }
    const refusal = hiddenArgument(parsed.parsedBody);
    if (refusal !== undefined) return json(400, refusal);
    for (const threadId of subscribedBy(parsed.parsedBody)) if (watched.size < MAX_WATCHED) watched.add(threadId);
    return await mcp.fetch(new Request(url, { method, headers, signal, body }), parsed);
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
    const { calls, audience, holds, logger, version } = this.#deps;
    const bus = new InMemoryServerEventBus();
    const mcp = createMcpHandler(
      ({ era, requestInfo }) => {
        const correlationId = (given: unknown) => correlationIdOf(given ?? requestInfo?.headers.get("traceparent"));
        const canSubscribe = era === "modern";
        return mcpServer({ calls, logger, version, proof, canSubscribe, correlationId });
      },
      {
        bus,
        maxSubscriptions: MAX_STREAMS,
        maxRequestBodySize: MAX_BODY,
        onerror: (err) => logger.debug({ err }, "mcp"),
      },
    );
    const watched = new Set<string>();
    const heard = audience.subscribe({
      caller: proof,
      watched: () => watched,
      heard: ({ threadId, inbox }) => {
        if (inbox) bus.publish({ kind: "resource_updated", uri: "inbox://me" });
        if (threadId !== undefined) bus.publish({ kind: "resource_updated", uri: `thread://${threadId}` });
      },
    });
    const end = () => {
      heard[Symbol.dispose]();
      held[Symbol.dispose]();
      this.#handlers.delete(key);
      mcp.close().catch((err: unknown) => logger.debug({ err }, "an MCP stream could not be ended"));
    };
    const held = holds.hold(proof, end);
    return { mcp, watched, end };
  }
}

/**
 * The response to a refused caller: a body with an error code and, without a valid token, a header with the URL of the
 * OAuth metadata.
 */
const REFUSALS: Pick<RouteAddress, "refusalHeaders" | "refusalBody"> = {
  refusalHeaders: (refusal, url) =>
    refusal.kind === "unauthenticated"
      ? { "www-authenticate": `Bearer resource_metadata="${new URL(WELL_KNOWN, url)}", error="invalid_token"` }
      : {},
  refusalBody: errorBody,
};

function resourceAt(url: string) {
  return { resource: String(new URL(PATH, url)), bearer_methods_supported: ["header"] };
}

/** Parses a body; undefined if it is not JSON in UTF-8, or an object in it has a duplicate key. */
function parsedOf(body: Uint8Array<ArrayBuffer>): { readonly parsedBody: unknown } | undefined {
  try {
    return { parsedBody: parseStrictJson(new TextDecoder("utf-8", { fatal: true }).decode(body)) };
  } catch {
    return undefined;
  }
}

/** The refusal of an argument that the SDK drops, so that the tool does not see it; undefined: there is none. */
function hiddenArgument(body: unknown): object | undefined {
  const { id = null, params } = objectOf(body);
  if (!Object.hasOwn(objectOf(objectOf(params)["arguments"]), "__proto__")) return undefined;
  const fault = threadsError("VALIDATION_ERROR", "__proto__ is not known");
  return { jsonrpc: "2.0", id, error: { code: -32_602, message: fault.message, data: errorBody(fault) } };
}

/** The ids of the threads that a `subscriptions/listen` request names; empty for other requests. */
function subscribedBy(body: unknown): readonly string[] {
  const { method, params } = objectOf(body);
  if (method !== "subscriptions/listen") return [];
  const uris = objectOf(objectOf(params)["notifications"])["resourceSubscriptions"];
  if (!Array.isArray(uris)) return [];
  return uris.flatMap((uri) => (typeof uri === "string" ? THREAD_URI.exec(uri)?.[1] : undefined) ?? []);
}

function json(status: number, body: object): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store" } });
}
