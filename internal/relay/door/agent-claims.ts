import type { IssuerRule } from "../../auth/issuing-cas.ts";
import { includes } from "../../auth/roles.ts";
import { readClaims, type TokenClaims } from "../../auth/token-claims.ts";
import { tokenError } from "../../auth/token-error.ts";
import { leaseName } from "../../auth/token-leases.ts";
import type { VerifiedToken } from "../../auth/token-verifier.ts";
import { DomainError } from "../../base/errors.ts";
import { isName, type LaneName } from "../nats/subjects.ts";
import type { LaneAgent } from "./upgrade-place.ts";

/** The claims of a token with which an agent dials in. */
export interface AgentClaims extends TokenClaims {
  readonly place: LaneAgent;
}

/** An issuer of agents' tokens, and the sessions that it may sign for. */
export interface AgentIssuer extends IssuerRule {
  /** Session names; a name that ends with `*` is a prefix. Default: any session. */
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

/** The reason why a token does not admit its bearer as the agent of `place`; undefined: the token admits it. */
export function claimsRefusal(token: VerifiedToken, { lane, agentId }: LaneAgent): DomainError | undefined {
  const refusal = laneRefusal(token, lane);
  if (refusal !== undefined) return refusal;
  const { claims } = token;
  if ((claims as AgentClaims).place.agentId !== agentId) return denied("the token is for another agent");
  return includes(claims.role, "operate") ? undefined : denied("an agent needs the scope operate");
}

/** The reason why a token is not valid for a lane; undefined: it is valid. */
export function laneRefusal({ claims, key }: VerifiedToken, lane: LaneName): DomainError | undefined {
  const said = (claims as AgentClaims).place;
  if (said.lane.sessionId !== lane.sessionId) return denied("the token is for another session");
  if (said.lane.role !== lane.role) return denied("the token is for another role");
  const { sessions = ["*"] } = key.rule as AgentIssuer;
  const isSigned = sessions.some((pattern) => isOf(pattern, lane.sessionId));
  return isSigned ? undefined : denied("the token's issuer may not sign for this session");
}

/** The reason why `next` may not extend a connection that `first` opened; undefined: it may. */
export function renewalRefusal(first: VerifiedToken, next: VerifiedToken): DomainError | undefined {
  return leaseName(first) === leaseName(next)
    ? undefined
    : denied("the token is not of the issuer, subject and project of the one before");
}

function isOf(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function denied(message: string): DomainError {
  return new DomainError("denied", message, { fields: { token: "place" } });
}
