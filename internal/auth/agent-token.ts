import { createPublicKey, hash, type KeyObject, randomUUID, verify } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import { readNamedFileSync } from "../files/named-file.ts";
import { signClaims, signingKeyOf } from "./mint-token.ts";
import { decodeToken } from "./token-format.ts";

/** A token is replaced after this share of its lifetime, ± RENEW_SPREAD. */
const RENEW_AT = 0.5;
const RENEW_SPREAD = 0.1;

/** The environment variable with the path of the agent's token file. */
export const TOKEN_FILE_VARIABLE = "GT_THREADS_TOKEN_FILE";

/** How to sign the tokens of agents, and the claims that all of them share. */
export interface AgentTokenRules {
  /** An Ed25519 key, PEM; read for each token, so that the file may be replaced. */
  readonly keyPath: string;
  readonly issuer: string;
  readonly audience: string;
  /** The role of agents that are given none. */
  readonly role: string;
  /** Further roles that an agent can be given. */
  readonly roles: readonly string[];
  readonly ttlMs: number;
}

/** The agent that a token identifies: the agent of one session only. */
export interface AgentIdentity {
  readonly workspace: string;
  readonly agent: string;
  readonly session: string;
  /** Absent: the default role. */
  readonly role?: string | undefined;
}

/**
 * Signs the tokens with which agents identify themselves to other services. They have no `project_id`, so bridges,
 * controllers and sidecars refuse them whatever audience is configured.
 */
export class AgentTokens {
  readonly #clock: Clock;
  readonly #rules: AgentTokenRules;

  constructor({ clock }: { readonly clock: Clock }, rules: AgentTokenRules) {
    this.#clock = clock;
    this.#rules = rules;
  }

  get ttlMs(): number {
    return this.#rules.ttlMs;
  }

  /** The roles that agents can have. */
  get roles(): readonly string[] {
    return [this.#rules.role, ...this.#rules.roles];
  }

  /** @throws DomainError `invalid` if the key cannot be read; `denied` for a role that agents cannot have */
  mint(whom: AgentIdentity): string {
    const issuedAt = Math.floor(this.#clock.now() / 1000);
    const exp = issuedAt + Math.floor(this.#rules.ttlMs / 1000);
    const claims = { ...this.#namesOf(whom), jti: randomUUID(), iat: issuedAt, exp };
    return signClaims(this.#key(), claims);
  }

  /**
   * When to replace a token, wall clock, ms: near half of its lifetime. The time follows from the token alone, and is
   * spread so that tokens signed together are not all replaced together. Undefined: the token was not signed for this
   * agent with the current rules and key.
   * @throws DomainError as `mint`
   */
  renewalTime(token: string, whom: AgentIdentity): number | undefined {
    const decoded = decodedOf(token);
    if (decoded === undefined) return undefined;
    const { iat, exp, jti, ...names } = decoded.claims;
    if (typeof iat !== "number" || typeof exp !== "number" || typeof jti !== "string") return undefined;
    const isSame = JSON.stringify(names) === JSON.stringify(this.#namesOf(whom));
    if (!isSame || !verify(null, decoded.signed, createPublicKey(this.#key()), decoded.signature)) return undefined;
    const spread = (Number.parseInt(hash("sha256", jti).slice(0, 8), 16) / 0xffffffff) * 2 - 1;
    return Math.round((iat + (exp - iat) * (RENEW_AT + spread * RENEW_SPREAD)) * 1000);
  }

  #namesOf({ workspace, agent, session, role = this.#rules.role }: AgentIdentity): Readonly<Record<string, string>> {
    const { issuer, audience } = this.#rules;
    if (!this.roles.includes(role)) throw new DomainError("denied", `agents may not have the role ${role}`);
    const who = { workspace_id: workspace, agent_id: agent, role, session_id: session };
    return { iss: issuer, sub: agent, aud: audience, ...who };
  }

  #key(): KeyObject {
    const { keyPath } = this.#rules;
    return signingKeyOf(readNamedFileSync(keyPath), keyPath);
  }
}

function decodedOf(token: string): ReturnType<typeof decodeToken> | undefined {
  try {
    return decodeToken(token);
  } catch {
    return undefined;
  }
}
