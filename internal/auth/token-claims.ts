import { isRole, type Role } from "./roles.ts";
import { tokenError } from "./token-error.ts";

/** The claims of a token; times are wall clock, ms. */
export interface TokenClaims {
  readonly issuer: string;
  readonly subject: string;
  readonly project: string;
  readonly audiences: readonly string[];
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly notBefore?: number | undefined;
  /** Permissions of the bearer. Default: `operate`. */
  readonly role: Role;
  /** The certificate to which the token is bound (RFC 8705): base64url of its SHA-256. */
  readonly boundTo?: string | undefined;
  /** Fields that name the bearer in the audit log, in place of `role`. */
  readonly names?: Readonly<Record<string, string>> | undefined;
}

export interface TokenTimes {
  /** The longest lifetime that is accepted, ms. */
  readonly maxTtlMs: number;
  /** The most by which the issuer's clock may be ahead of ours, ms. */
  readonly clockSkewMs: number;
}

/** Printable, so that it is safe in a log. */
const NAME = /^\P{C}{1,256}$/u;
/** The last second of the year 9999. */
const LATEST_S = 253_402_300_799;
const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/;

/** @throws DomainError `unauthenticated` for a claim that is missing or of a wrong type */
export function readClaims(claims: Readonly<Record<string, unknown>>): TokenClaims {
  const notBefore = claims["nbf"] === undefined ? undefined : timeOf(claims, "nbf");
  const boundTo = claims["cnf"] === undefined ? undefined : thumbprintOf(claims["cnf"]);
  return {
    issuer: nameOf(claims, "iss"),
    subject: nameOf(claims, "sub"),
    project: nameOf(claims, "project_id"),
    audiences: audiencesOf(claims["aud"]),
    issuedAt: timeOf(claims, "iat"),
    expiresAt: timeOf(claims, "exp"),
    role: roleOf(claims["scope"]),
    ...{ notBefore, boundTo },
  };
}

/**
 * Checks that a token is valid now, and that its lifetime is within the limit. The clock skew never prolongs the
 * lifetime: the issuer can sign another token.
 * @param now wall clock, ms
 * @throws DomainError `unauthenticated`
 */
export function checkTimes(claims: TokenClaims, now: number, { maxTtlMs, clockSkewMs }: TokenTimes): void {
  const { issuedAt, expiresAt, notBefore = issuedAt } = claims;
  if (expiresAt <= issuedAt) throw tokenError("claims", "the token expires before it is issued (exp, iat)");
  if (expiresAt - issuedAt > maxTtlMs) {
    throw tokenError("too-long", `the token is valid for more than ${maxTtlMs / 1000} seconds (exp, iat)`);
  }
  if (expiresAt <= now) throw tokenError("expired", "the token has expired");
  if (Math.max(issuedAt, notBefore) > now + clockSkewMs) throw tokenError("early", "the token is not valid yet");
}

function nameOf(claims: Readonly<Record<string, unknown>>, name: string): string {
  const value = claims[name];
  if (typeof value === "string" && NAME.test(value)) return value;
  throw tokenError("claims", `the token's ${name} is not a string of 1 to 256 printable characters`);
}

function timeOf(claims: Readonly<Record<string, unknown>>, name: string): number {
  const value = claims[name];
  if (typeof value === "number" && value >= 0 && value <= LATEST_S) return value * 1000;
  throw tokenError("claims", `the token's ${name} is not a time in seconds`);
}

function audiencesOf(value: unknown): readonly string[] {
  const all = Array.isArray(value) ? value : [value];
  if (all.length > 0 && all.every((one) => typeof one === "string" && NAME.test(one))) return all as string[];
  throw tokenError("claims", "the token's aud is neither a string nor a list of strings");
}

function roleOf(value: unknown): Role {
  if (value === undefined) return "operate";
  if (typeof value === "string" && isRole(value)) return value;
  throw tokenError("claims", "the token's scope is not read, nudge or operate");
}

/** Anything else in `cnf` would be a binding that is not checked here. */
function thumbprintOf(cnf: unknown): string {
  if (typeof cnf === "object" && cnf !== null && Object.keys(cnf).join() === "x5t#S256") {
    const value = (cnf as Readonly<Record<string, unknown>>)["x5t#S256"];
    if (typeof value === "string" && THUMBPRINT.test(value)) return value;
  }
  throw tokenError("claims", "the token's cnf is not a single x5t#S256");
}
