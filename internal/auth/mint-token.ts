import { createPrivateKey, hash, type KeyObject, sign, type X509Certificate } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import { readPem } from "../pki/explain-pem.ts";
import type { Role } from "./roles.ts";

export interface TokenRequest {
  readonly issuer: string;
  readonly subject: string;
  readonly project: string;
  readonly audience: string;
  /** Absent: everything is allowed. */
  readonly scope?: Role;
  readonly ttlMs: number;
  /** The only certificate with which the token is valid. Default: the token is not bound to a certificate. */
  readonly certificate?: X509Certificate | undefined;
  /** Further claims. */
  readonly more?: Readonly<Record<string, string>>;
}

/**
 * A signed token for `TokenVerifier`.
 * @param now wall clock, ms
 */
export function mintToken(key: KeyObject, request: TokenRequest, now: number): string {
  const { issuer, subject, project, audience, scope, ttlMs, certificate, more } = request;
  const issuedAt = Math.floor(now / 1000);
  const claims = {
    ...more,
    ...{ iss: issuer, sub: subject, project_id: project, aud: audience },
    ...{ iat: issuedAt, exp: issuedAt + Math.floor(ttlMs / 1000) },
    scope: scope || undefined,
    cnf: certificate && { "x5t#S256": hash("sha256", certificate.raw, "base64url") },
  };
  return signClaims(key, claims);
}

/** A JWT with these claims, signed with EdDSA. */
export function signClaims(key: KeyObject, claims: object): string {
  const signed = `${encoded({ alg: "EdDSA", typ: "JWT" })}.${encoded(claims)}`;
  return `${signed}.${sign(null, Buffer.from(signed), key).toString("base64url")}`;
}

/** The private key of a PEM text. @throws DomainError `invalid`, naming `source`, unless it is an Ed25519 key */
export function signingKeyOf(pem: string, source: string): KeyObject {
  const key = readPem(pem, "key", source, createPrivateKey);
  if (key.asymmetricKeyType === "ed25519") return key;
  throw new DomainError("invalid", `${source} has a key that is not Ed25519`, {
    fields: { hint: "make one with: bridge-ca jwt-keygen, or openssl genpkey -algorithm ed25519" },
  });
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
