import type { VerifiedToken } from "../../auth/token-verifier.ts";
import { DomainError } from "../../base/errors.ts";
import type { Peer } from "../../rpc/port/peer.ts";
import { type AgentClaims, claimsRefusal, renewalRefusal } from "./agent-claims.ts";
import type { LaneAgent } from "./upgrade-place.ts";

/** An open connection of an agent. */
export interface OpenCall {
  readonly place: LaneAgent;
  readonly connection: Peer;
  /** The token that admitted the agent; undefined: none was required. */
  readonly token: VerifiedToken | undefined;
}

/**
 * Checks that a token may extend an open connection: it admits the same agent, and has the same issuer, subject and
 * project as the first token. Another agent's connection and a connection that does not exist give the same error.
 * @param url of `POST /acp/{session_id}/{role}/token`
 * @throws DomainError `invalid` if the relay requires no tokens; `denied` if the token is for another session or role,
 * or has another issuer, subject or project; `not-found` if this agent has no such connection
 */
export function renewalOf(
  url: string,
  token: VerifiedToken | undefined,
  open: OpenCall | undefined,
): { readonly connection: Peer; readonly token: VerifiedToken } {
  if (token === undefined) throw new DomainError("invalid", "the relay requires no tokens");
  const { place } = token.claims as AgentClaims;
  const [, , sessionId, role] = new URL(url).pathname.split("/");
  if (sessionId !== place.lane.sessionId || role !== place.lane.role) {
    throw new DomainError("denied", "the token is for another session or role");
  }
  if (open?.token === undefined || claimsRefusal(token, open.place) !== undefined) {
    throw new DomainError("not-found", "no such connection of this agent is open here");
  }
  const refusal = renewalRefusal(open.token, token);
  if (refusal !== undefined) throw refusal;
  return { connection: open.connection, token };
}
