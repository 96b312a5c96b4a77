import type { IssuerRule } from "../../auth/issuing-cas.ts";
import { includes } from "../../auth/roles.ts";
import { readClaims, type TokenClaims } from "../../auth/token-claims.ts";
import { tokenError } from "../../auth/token-error.ts";
import { leaseName } from "../../auth/token-leases.ts";
import type { VerifiedToken } from "../../auth/token-verifier.ts";
import { DomainError } from "../../base/errors.ts";
import { isName, type LaneName } from "../nats/subjects.ts";
import type { LaneAgent } from "./upgrade-place.ts";

/** The claims of an agent's token. */
export interface AgentClaims extends TokenClaims {
  readonly place: LaneAgent;
}

/** The rule for an issuer of agents' tokens. */
export interface AgentIssuer extends IssuerRule {
  /** The sessions that the issuer may sign for; a name that ends with `*` is a prefix. Default: any session. */
  readonly sessions?: readonly string[] | undefined;
}

/**
 * Reads the claims that every token has, and `session_id`, `role` and `agent_id`.
 * @throws DomainError `unauthenticated` for a claim that is missing or has a wrong type
 */
export function readAgentClaims(claims: Readonly<Record<string, unknown>>): AgentClaims {
  const named = (claim: string) => {
    const value = claims[claim];
    if (typeof value === "string" && isName(value)) return value;
    throw tokenError("claims", `the token's ${claim} is not a name of letters, digits, _ and -`);
  };
  const lane = { sessionId: named("session_id"), role: named("role") };
  return { ...readClaims(claims), place: { lane, agentId: named("agent_id") } };
}

/** The error if a token does not admit its bearer as this agent; undefined if it does. */
export function claimsRefusal(token: VerifiedToken, { lane, agentId }: LaneAgent): DomainError | undefined {
  const refusal = laneRefusal(token, lane);
  if (refusal !== undefined) return refusal;
  const { claims } = token;
  if ((claims as AgentClaims).place.agentId !== agentId) return denied("the token is for another agent");
  return includes(claims.role, "operate") ? undefined : denied("an agent needs the scope operate");
}

/** The error if a token is not valid for a lane; undefined if it is. */
export function laneRefusal({ claims, key }: VerifiedToken, lane: LaneName): DomainError | undefined {
  const said = (claims as AgentClaims).place;
  if (said.lane.sessionId !== lane.sessionId) return denied("the token is for another session");
  if (said.lane.role !== lane.role) return denied("the token is for another role");
  const { sessions = ["*"] } = key.rule as AgentIssuer;
  const isSigned = sessions.some((pattern) => matches(pattern, lane.sessionId));
  return isSigned ? undefined : denied("the token's issuer may not sign for this session");
}

/** The error if `next` may not extend a connection that `first` opened; undefined if it may. */
export function renewalRefusal(first: VerifiedToken, next: VerifiedToken): DomainError | undefined {
  return leaseName(first) === leaseName(next)
    ? undefined
    : denied("the token has another issuer, subject or project than the one before");
}

function matches(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function denied(message: string): DomainError {
  return new DomainError("denied", message, { fields: { token: "place" } });
}
