import type { IncomingHttpHeaders } from "node:http";
import { chooseDialect, type DialectChoice, type DialectOptions, knownSubprotocols } from "../acp/dialect.ts";
import { isName, type LaneName } from "../nats/subjects.ts";

/** An agent of a session. */
export interface LaneAgent {
  readonly lane: LaneName;
  readonly agentId: string;
}

/** The place and dialect that an upgrade asks for, after path, query and headers were found to agree. */
export interface UpgradePlace extends DialectChoice, LaneAgent {}

export interface UpgradeRefusal {
  readonly status: 400 | 404 | 426;
  readonly reason: string;
}

export interface UpgradeHead {
  /** Path and query, unchanged. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

const ROOT = "/acp/";
const BEARER = "bearer.";
const TOKEN_KEYS = ["token", "access_token", "authorization"];

/** Reads `/acp/{session_id}/{role}?agent_id=…` and the headers of an upgrade. Pure. */
export function readUpgradePlace(
  { url, headers }: UpgradeHead,
  dialects: DialectOptions,
): UpgradePlace | UpgradeRefusal {
  const [path = "", query = ""] = splitOnce(url, "?");
  if (!path.startsWith(ROOT)) return { status: 404, reason: `agents connect at ${ROOT}{session_id}/{role}` };
  const [sessionId = "", role = "", ...rest] = path.slice(ROOT.length).split("/");
  if (rest.length > 0) return bad(`the path is ${ROOT}{session_id}/{role}`);
  if (!isName(sessionId)) return bad("the session id is missing or malformed");
  if (!isName(role)) return bad("the role is missing or malformed");
  const asked = new URLSearchParams(query);
  if (TOKEN_KEYS.some((key) => asked.has(key))) return bad("a token may not be in the query: addresses are logged");
  const [agentId, ...others] = asked.getAll("agent_id");
  if (agentId === undefined || others.length > 0 || !isName(agentId)) return bad("agent_id is missing or malformed");
  const claimed = { "x-session-id": sessionId, "x-agent-role": role, "x-agent-id": agentId };
  for (const [name, value] of Object.entries(claimed)) {
    const said = headers[name];
    if (said !== undefined && said !== value) return bad(`the header ${name} differs from the path or query`);
  }
  const choice = chooseDialect(offeredBy(headers), headerText(headers["x-acp-version"]), dialects);
  if (choice === undefined) {
    const known = knownSubprotocols(dialects).join(", ");
    return { status: 426, reason: `unknown dialect; known: ${known}, X-ACP-Version 1.0` };
  }
  return { lane: { sessionId, role }, agentId, ...choice };
}

/** The tokens among the subprotocols of an upgrade: a page in a browser cannot set headers. */
export function tokensOffered(headers: IncomingHttpHeaders): readonly string[] {
  return offeredBy(headers).flatMap((name) => (name.startsWith(BEARER) ? [name.slice(BEARER.length)] : []));
}

export function isRefused(place: UpgradePlace | UpgradeRefusal): place is UpgradeRefusal {
  return "status" in place;
}

function bad(reason: string): UpgradeRefusal {
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
