import { createPublicKey, hash, type KeyObject, randomUUID, verify } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { readNamedFileSync } from "../files/named-file.ts";
import { signClaims, signingKeyOf } from "./mint-token.ts";
import { decodeToken } from "./token-format.ts";

/** Replaced at half of its life, and up to a tenth of it sooner or later. */
const RENEW_AT = 0.5;
const RENEW_SPREAD = 0.1;

/** The environment variable by which an agent finds the file with its token. */
export const TOKEN_FILE_VARIABLE = "GT_THREADS_TOKEN_FILE";

/** Who signs the tokens of agents, and what is in all of them. */
export interface AgentTokenRules {
  /** An Ed25519 key, PEM; read for each token, so that it may be replaced. */
  readonly keyPath: string;
  readonly issuer: string;
  readonly audience: string;
  readonly role: string;
  readonly ttlMs: number;
}

/** Whose token it is: one session's agent, and no other. */
export interface AgentIdentity {
  readonly workspace: string;
  readonly agent: string;
  readonly session: string;
}

/**
 * Makes the tokens that agents show elsewhere as themselves. They have no `project_id`: no bridge, controller or
 * sidecar takes one, whatever audience is configured.
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

  /** @throws DomainError `invalid` while the key cannot be read */
  mint(whom: AgentIdentity): string {
    const issuedAt = Math.floor(this.#clock.now() / 1000);
    const exp = issuedAt + Math.floor(this.#rules.ttlMs / 1000);
    const claims = { ...this.#namesOf(whom), jti: randomUUID(), iat: issuedAt, exp };
    return signClaims(this.#key(), claims);
  }

  /**
   * When a token is to be replaced, wall clock, ms: near half of its life, the same for everyone who asks, spread so
   * that tokens of one hour are not all replaced in one minute. Undefined: it is none that is made for this agent with
   * today's rules and key.
   * @throws DomainError `invalid` while the key cannot be read
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

  #namesOf({ workspace, agent, session }: AgentIdentity): Readonly<Record<string, string>> {
    const { issuer, audience, role } = this.#rules;
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
