import { randomUUID } from "node:crypto";
import { DomainError } from "../../base/errors.ts";
import { isObject, type JsonObject, member } from "../acp/json-text.ts";
import { isName, type LaneName, laneKey } from "../nats/subjects.ts";

/** The session and role of an editor's connection. Undefined: each of its ACP sessions names its own. */
export interface FrontPlace {
  readonly sessionId: string | undefined;
  readonly role: string | undefined;
}

/**
 * Reads `/acp?session=S&role=R`, both optional.
 * @throws DomainError `invalid` for an unknown or repeated parameter, or an invalid name
 */
export function readFrontPlace(url: string): FrontPlace {
  const query = new URL(url, "http://relay").searchParams;
  for (const key of new Set(query.keys())) {
    const values = query.getAll(key);
    if (key !== "session" && key !== "role") throw invalid(`unknown parameter ${JSON.stringify(key.slice(0, 64))}`);
    if (values.length > 1 || !isName(values[0] ?? ""))
      throw invalid(`${key} is not a name of letters, digits, _ and -`);
  }
  return { sessionId: query.get("session") ?? undefined, role: query.get("role") ?? undefined };
}

/**
 * The lane of `session/new`. `_meta.relay {session, role}` names the parts that the connection leaves open; if neither
 * names a session, the session is new.
 * @throws DomainError `invalid`
 */
export function laneOfNew(place: FrontPlace, params: JsonObject): LaneName {
  const meta = member(params, "_meta");
  const relay = isObject(meta) ? member(meta, "relay") : undefined;
  const said = isObject(relay) ? relay : {};
  const sessionId = agreed("session", place.sessionId, member(said, "session"));
  const role = agreed("role", place.role, member(said, "role"));
  if (role === undefined) throw invalid("no role: connect to /acp?role=R, or say it in _meta.relay.role");
  return { sessionId: sessionId ?? `editor-${randomUUID()}`, role };
}

/** The lane of an ACP session id, `SESSION:ROLE`. @throws DomainError `invalid`, `not-found` */
export function laneOfSession(place: FrontPlace, id: unknown): LaneName {
  const [sessionId = "", role = "", ...rest] = typeof id === "string" ? id.split(":") : [];
  if (rest.length > 0 || !isName(sessionId) || !isName(role)) throw invalid("sessionId is not SESSION:ROLE");
  if ((place.sessionId ?? sessionId) !== sessionId || (place.role ?? role) !== role) {
    throw new DomainError("not-found", `the connection is not for ${sessionId}:${role}`);
  }
  return { sessionId, role };
}

/** The ACP session id of a lane. */
export function sessionOfLane(lane: LaneName): string {
  return laneKey(lane);
}

function agreed(what: string, fixed: string | undefined, said: unknown): string | undefined {
  if (said === undefined || said === null) return fixed;
  if (typeof said !== "string" || !isName(said)) throw invalid(`_meta.relay.${what} is not a valid name`);
  if (fixed !== undefined && fixed !== said) throw invalid(`the connection is for the ${what} ${fixed}`);
  return said;
}

function invalid(message: string): DomainError {
  return new DomainError("invalid", message);
}
