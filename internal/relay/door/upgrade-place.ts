import type { IncomingHttpHeaders } from "node:http";
import { chooseDialect, type DialectChoice, knownSubprotocols } from "../acp/dialect.ts";
import { isName, type LaneName } from "../nats/subjects.ts";

/** Where an agent wants to be, as path, query and headers agree. */
export interface UpgradePlace extends DialectChoice {
  readonly lane: LaneName;
  readonly agentId: string;
}

export interface Refusal {
  readonly status: 400 | 403 | 404 | 409 | 426 | 429 | 503;
  readonly reason: string;
}

export interface UpgradeHead {
  /** Path and query as they came. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

const ROOT = "/acp/";

/** Reads `/acp/{session_id}/{role}?agent_id=…` and the four headers. Pure. */
export function readPlace({ url, headers }: UpgradeHead): UpgradePlace | Refusal {
  const [path = "", query = ""] = splitOnce(url, "?");
  if (!path.startsWith(ROOT)) return { status: 404, reason: `agents connect at ${ROOT}{session_id}/{role}` };
  const [sessionId = "", role = "", ...rest] = path.slice(ROOT.length).split("/");
  if (rest.length > 0) return bad(`the path is ${ROOT}{session_id}/{role}`);
  if (!isName(sessionId)) return bad("the session id is missing or malformed");
  if (!isName(role)) return bad("the role is missing or malformed");
  const [agentId, ...others] = new URLSearchParams(query).getAll("agent_id");
  if (agentId === undefined || others.length > 0 || !isName(agentId)) return bad("agent_id is missing or malformed");
  const claimed = { "x-session-id": sessionId, "x-agent-role": role, "x-agent-id": agentId };
  for (const [name, value] of Object.entries(claimed)) {
    const said = headers[name];
    if (said !== undefined && said !== value) return bad(`the header ${name} differs from the path or query`);
  }
  const choice = chooseDialect(offeredBy(headers), headerText(headers["x-acp-version"]));
  if (choice === undefined) {
    return { status: 426, reason: `unknown dialect; known: ${knownSubprotocols.join(", ")}, X-ACP-Version 1.0` };
  }
  return { lane: { sessionId, role }, agentId, ...choice };
}

export function isRefused(place: UpgradePlace | Refusal): place is Refusal {
  return "status" in place;
}

function bad(reason: string): Refusal {
  return { status: 400, reason };
}

function offeredBy(headers: IncomingHttpHeaders): readonly string[] {
  return (headerText(headers["sec-websocket-protocol"]) ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

function headerText(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join() : value;
}

function splitOnce(text: string, at: string): readonly string[] {
  const index = text.indexOf(at);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)];
}
