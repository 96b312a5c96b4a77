import { hash, verify, type X509Certificate } from "node:crypto";
import type { IssuerRule } from "../../auth/issuing-cas.ts";
import { type DecodedToken, decodeToken } from "../../auth/token-format.ts";
import type { TokenKey, TokenKeySet } from "../../auth/token-verifier.ts";
import type { Clock } from "../../base/clock.ts";
import { threadsError } from "../domain/faults.ts";
import type { MemberKind } from "../domain/types.ts";

/** Who may sign tokens, and for whom. */
export interface ThreadsIssuer extends IssuerRule {
  readonly kind: MemberKind;
  /** `*`: all. */
  readonly workspaces: readonly string[];
  /** `*`: all; for agents all but `operator`. */
  readonly roles: readonly string[];
}

/** What a token proves. */
export interface Proof {
  readonly workspace: string;
  readonly agent: string;
  readonly role: string;
  readonly kind: MemberKind;
  readonly session: string;
  readonly jti: string;
  /** Wall clock, ms. */
  readonly expiresAt: number;
  readonly key: TokenKey;
}

export interface VerifierOptions {
  readonly audience: string;
  readonly personTtlMs: number;
  readonly agentTtlMs: number;
}

const SKEW_MS = 30_000;
const PATTERNS = {
  workspace_id: /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
  agent_id: /^[A-Za-z0-9][A-Za-z0-9._/-]{0,255}$/,
  role: /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
  session_id: /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/,
  jti: /^[\x21-\x7e]{1,128}$/,
  sub: /^[\x20-\x7e]{1,256}$/,
} as const;

/** Tells which tokens count here, by their claims and their issuer's keys. What costs least is checked first. */
export class ThreadsVerifier {
  readonly #clock: Clock;
  readonly #keys: () => TokenKeySet;
  readonly #options: VerifierOptions;

  /** `keys`: those in use; their rules are `ThreadsIssuer`s. */
  constructor(deps: { readonly clock: Clock; readonly keys: () => TokenKeySet }, options: VerifierOptions) {
    this.#clock = deps.clock;
    this.#keys = deps.keys;
    this.#options = options;
  }

  /** @throws DomainError `unauthenticated`, code UNAUTHORIZED, for a token that does not count over this connection */
  verify(text: string, certificate?: X509Certificate): Proof {
    const decoded = decoding(text);
    const { claims } = decoded;
    const named = Object.fromEntries(
      Object.entries(PATTERNS).map(([name, pattern]) => [name, claimOf(claims, name, pattern)]),
    ) as Record<keyof typeof PATTERNS, string>;
    const keys = this.#keys().get(String(claims["iss"])) ?? [];
    const issuer = keys[0]?.rule as ThreadsIssuer | undefined;
    if (issuer === undefined) throw refused("the token's issuer is not known here");
    const { aud } = claims;
    if (![aud].flat().includes(this.#options.audience)) throw refused("the token is for another audience");
    const project = claims["project_id"];
    if (project !== undefined && project !== named.workspace_id) throw refused("project_id is not workspace_id");
    const expiresAt = this.#checkTimes(claims, issuer.kind);
    checkBond(claims, certificate);
    const key = keys.find((one) => verify(null, decoded.signed, one.key, decoded.signature));
    if (key === undefined) throw refused("the token's signature is not its issuer's");
    checkIssuer(key.rule as ThreadsIssuer, named.workspace_id, named.role);
    return {
      ...{ workspace: named.workspace_id, agent: named.agent_id, role: named.role, session: named.session_id },
      ...{ kind: issuer.kind, jti: named.jti, expiresAt, key },
    };
  }

  /** The key that a token was checked with is still in use, and the token has not ended. */
  holds({ key, expiresAt }: Proof): boolean {
    return expiresAt > this.#clock.now() && (this.#keys().get(key.rule.issuer)?.includes(key) ?? false);
  }

  #checkTimes(claims: Readonly<Record<string, unknown>>, kind: MemberKind): number {
    const { iat, exp } = claims;
    if (typeof iat !== "number" || typeof exp !== "number" || !Number.isFinite(iat) || !Number.isFinite(exp)) {
      throw refused("the token's iat and exp are not numbers");
    }
    const now = this.#clock.now();
    const longest = kind === "person" ? this.#options.personTtlMs : this.#options.agentTtlMs;
    if (exp * 1000 <= now) throw refused("the token has expired");
    if (iat * 1000 > now + SKEW_MS) throw refused("the token is from the future (iat)");
    if ((exp - iat) * 1000 > longest) throw refused(`the token is valid for more than ${longest / 1000} seconds`);
    const notBefore = claims["nbf"];
    if (notBefore !== undefined && !(typeof notBefore === "number" && notBefore * 1000 <= now + SKEW_MS)) {
      throw refused("the token is not valid yet (nbf)");
    }
    return exp * 1000;
  }
}

function decoding(text: string): DecodedToken {
  try {
    return decodeToken(text);
  } catch (err) {
    throw refused(err instanceof Error ? err.message : "the token cannot be read");
  }
}

function claimOf(claims: Readonly<Record<string, unknown>>, name: string, pattern: RegExp): string {
  const value = claims[name];
  if (typeof value === "string" && pattern.test(value)) return value;
  throw refused(value === undefined ? `the token has no ${name}` : `the token's ${name} is not valid`);
}

/** A token that is bound to a certificate counts with that one only; without the claim no certificate is asked for. */
function checkBond(claims: Readonly<Record<string, unknown>>, certificate: X509Certificate | undefined): void {
  const { cnf } = claims;
  if (cnf === undefined) return;
  const wanted = (cnf as { readonly "x5t#S256"?: unknown } | null)?.["x5t#S256"];
  if (certificate !== undefined && wanted === hash("sha256", certificate.raw, "base64url")) return;
  throw refused("the token is bound to another certificate (cnf)");
}

function checkIssuer({ kind, workspaces, roles }: ThreadsIssuer, workspace: string, role: string): void {
  if (!workspaces.includes("*") && !workspaces.includes(workspace)) {
    throw refused("the token's issuer may not speak for this workspace");
  }
  const isAllowed = roles.includes(role) || (roles.includes("*") && (kind === "person" || role !== "operator"));
  if (!isAllowed || role === "system" || (role === "operator" && kind !== "person")) {
    throw refused(`the token's issuer may not say the role ${role}`);
  }
}

function refused(message: string) {
  return threadsError("UNAUTHORIZED", message);
}
