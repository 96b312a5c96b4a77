import type { IssuerRule } from "../../auth/issuing-cas.ts";
import { readClaims, type TokenClaims } from "../../auth/token-claims.ts";
import { type TokenFault, tokenError } from "../../auth/token-error.ts";
import type { VerifiedToken } from "../../auth/token-verifier.ts";
import { threadsError } from "../domain/faults.ts";
import type { MemberKind } from "../domain/types.ts";

/** An issuer of tokens, with the workspaces and roles that it may sign tokens for. */
export interface ThreadsIssuer extends IssuerRule {
  readonly kind: MemberKind;
  /** `*`: all. */
  readonly workspaces: readonly string[];
  /** `*`: all; if `kind` is `agent`, all but `operator`. */
  readonly roles: readonly string[];
}

interface ThreadsClaims extends TokenClaims {
  readonly says: Readonly<Record<keyof typeof CLAIM_PATTERNS, string>>;
}

/** The facts that a verified token proves. */
export interface Proof {
  readonly workspace: string;
  readonly agent: string;
  readonly role: string;
  readonly kind: MemberKind;
  readonly session: string;
  readonly jti: string;
  /** Wall clock, ms. */
  readonly expiresAt: number;
  readonly token: VerifiedToken;
}

/** The longest life of a token, by the kind of its issuer. */
export interface TokenLives {
  readonly personTtlMs: number;
  readonly agentTtlMs: number;
}

/** The forms of the claims; in a payload, the same names have the same forms. */
export const CLAIM_PATTERNS = {
  workspace_id: /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
  agent_id: /^[A-Za-z0-9][A-Za-z0-9._/-]{0,255}$/,
  role: /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
  session_id: /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/,
  jti: /^[\x21-\x7e]{1,128}$/,
} as const;

/**
 * Reads the claims of a token for threads. The token's workspace takes the place of the project that other tokens name.
 * @throws DomainError `unauthenticated` for a claim that is missing or of a wrong type
 */
export function readThreadsClaims(claims: Readonly<Record<string, unknown>>): ThreadsClaims {
  const says = Object.fromEntries(
    Object.entries(CLAIM_PATTERNS).map(([name, pattern]) => [name, claimOf(claims, name, pattern)]),
  ) as ThreadsClaims["says"];
  const { workspace_id: workspace, agent_id: agent, role, session_id: session } = says;
  const project = claims["project_id"];
  if (project !== undefined && project !== workspace) throw tokenError("claims", "project_id is not workspace_id");
  const known = readClaims({ ...claims, project_id: workspace, scope: undefined });
  return { ...known, says, names: { agent, role, session } };
}

/**
 * Returns the facts that a verified token proves.
 * @throws DomainError `unauthenticated`, code UNAUTHORIZED, if its issuer may not sign such a token
 */
export function proofOf(token: VerifiedToken, { personTtlMs, agentTtlMs }: TokenLives): Proof {
  const { says, issuedAt, expiresAt } = token.claims as ThreadsClaims;
  const { workspace_id: workspace, agent_id: agent, role, session_id: session, jti } = says;
  const { kind, workspaces, roles } = token.key.rule as ThreadsIssuer;
  const longest = kind === "person" ? personTtlMs : agentTtlMs;
  if (expiresAt - issuedAt > longest) {
    throw refused("too-long", `the token is valid for more than ${longest / 1000} seconds (exp, iat)`);
  }
  if (!workspaces.includes("*") && !workspaces.includes(workspace)) {
    throw refused("project", "the token's issuer may not speak for this workspace");
  }
  const isAllowed = roles.includes(role) || (roles.includes("*") && (kind === "person" || role !== "operator"));
  if (!isAllowed || role === "system" || (role === "operator" && kind !== "person")) {
    throw refused("claims", `the token's issuer may not say the role ${role}`);
  }
  return { workspace, agent, role, kind, session, jti, expiresAt, token };
}

function claimOf(claims: Readonly<Record<string, unknown>>, name: string, pattern: RegExp): string {
  const value = claims[name];
  if (typeof value === "string" && pattern.test(value)) return value;
  throw tokenError("claims", value === undefined ? `the token has no ${name}` : `the token's ${name} is not valid`);
}

function refused(token: TokenFault, message: string) {
  return threadsError("UNAUTHORIZED", message, { token });
}
