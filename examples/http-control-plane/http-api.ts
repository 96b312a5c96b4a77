import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { BridgeError } from "../../pkg/bridgeclient/index.ts";
import type { AgentSessions } from "./agent-sessions.ts";

const STATUS: Readonly<Partial<Record<BridgeError["code"], number>>> = {
  invalid_argument: 400,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  failed_precondition: 409,
  resource_exhausted: 429,
  unavailable: 503,
  deadline_exceeded: 504,
};

/**
 * POST /sessions {repo_path, provider, session_id?}, POST /sessions/ID/input {text}, GET and DELETE /sessions/ID.
 * `signal` ends the forwarding of events.
 */
export function httpApi(sessions: AgentSessions, signal: AbortSignal): Server {
  return createServer((request, response) => {
    answer(sessions, request, signal).then(
      (body) => send(response, 200, body),
      (err: unknown) => sendError(response, err),
    );
  });
}

async function answer(sessions: AgentSessions, request: IncomingMessage, signal: AbortSignal): Promise<object> {
  const [, top, id, action] = (request.url ?? "").split("/");
  const route = `${request.method} /${top}${id === undefined ? "" : "/ID"}${action === undefined ? "" : `/${action}`}`;
  switch (route) {
    case "POST /sessions": {
      const body = await bodyOf(request);
      const sessionId = body["session_id"] ?? randomUUID();
      await sessions.start({ sessionId, repoPath: must(body, "repo_path"), provider: must(body, "provider") }, signal);
      return { session_id: sessionId };
    }
    case "POST /sessions/ID/input":
      return await sessions.send(id ?? "", must(await bodyOf(request), "text"));
    case "GET /sessions/ID":
      return await sessions.get(id ?? "");
    case "DELETE /sessions/ID":
      await sessions.stop(id ?? "");
      return {};
    default:
      throw new BadRequest(`no route ${route}`);
  }
}

class BadRequest extends Error {}

async function bodyOf(request: IncomingMessage): Promise<Readonly<Record<string, string>>> {
  const body = await json(request).catch(() => {
    throw new BadRequest("the body is not JSON");
  });
  const fields = typeof body === "object" && body !== null ? Object.values(body) : [null];
  if (!fields.every((field) => typeof field === "string"))
    throw new BadRequest("the body is not a JSON object of texts");
  return body as Readonly<Record<string, string>>;
}

function must(body: Readonly<Record<string, string>>, key: string): string {
  const value = body[key];
  if (typeof value === "string" && value !== "") return value;
  throw new BadRequest(`${key} is missing`);
}

function sendError(response: ServerResponse, err: unknown): void {
  if (err instanceof BridgeError) {
    if (err.retryAfterMs !== undefined) response.setHeader("retry-after", Math.ceil(err.retryAfterMs / 1000));
    send(response, STATUS[err.code] ?? 502, { error: err.message, code: err.code });
  } else if (err instanceof BadRequest) {
    send(response, 400, { error: err.message });
  } else {
    console.error(err);
    send(response, 500, { error: "internal error" });
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(`${JSON.stringify(body)}\n`);
}
