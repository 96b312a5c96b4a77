import { createPrivateKey, hash, type KeyObject, sign, type X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { errorText, errorTextWithHint } from "../../internal/base/errors.ts";
import { type PemKind, readPem } from "../../internal/pki/explain-pem.ts";
import { certificatesOf } from "../../internal/pki/pem.ts";
import { revocationListsOf } from "../../internal/pki/revocation-list.ts";
import { ServerClock } from "../../internal/rpc/client/server-clock.ts";
import type { TlsMaterial } from "../../internal/rpc/common/tls.ts";
import { invalidOption } from "./errors.ts";
import type { JwtOptions, MtlsOptions } from "./options.ts";

/** The client's certificates and keys as its files contain them now. */
export interface Credentials {
  readonly tls: TlsMaterial;
  readonly signingKey: KeyObject;
  /** Revocation lists of the bridge's CA (PEM), one entry per file. */
  readonly lists: readonly string[];
  /** The client's own certificate: tokens are bound to it (RFC 8705). */
  readonly leaf: X509Certificate;
}

/**
 * Reads the four files.
 * @throws BridgeError `invalid_argument`, naming the file, when one cannot be used or certificate and key do not match
 */
export function readCredentials(mtls: MtlsOptions, privateKeyPath: string): Credentials {
  const given = { cert: read(mtls.certPath), key: read(mtls.keyPath), ca: read(mtls.caCertPath) };
  const chain = parsed(mtls.certPath, "certificate", given.cert, certificatesOf);
  const cas = parsed(mtls.caCertPath, "certificate", given.ca, certificatesOf);
  const key = parsed(mtls.keyPath, "key", given.key, createPrivateKey);
  const [leaf] = chain;
  // The parsed certificates are joined again, because OpenSSL silently stops at a block that it cannot read.
  const tls = { cert: chain.join(""), key: given.key, ca: cas.join("") };
  if (!leaf.checkPrivateKey(key)) throw invalidOption(`${mtls.keyPath} is not the key of ${mtls.certPath}`);
  checkContext(tls, mtls.certPath);
  const signingKey = parsed(privateKeyPath, "key", read(privateKeyPath), createPrivateKey);
  if (signingKey.asymmetricKeyType !== "ed25519")
    throw invalidOption(`${privateKeyPath} has a key that is not Ed25519`);
  const lists = [mtls.crlPath ?? []].flat().map((path) => ({ path, text: read(path) }));
  for (const { path, text } of lists) checkList(path, text, cas);
  return { tls, signingKey, leaf, lists: lists.map(({ text }) => text) };
}

/** @throws BridgeError `invalid_argument` for a file without a revocation list, or with the list of another CA */
function checkList(path: string, text: string, cas: readonly X509Certificate[]): void {
  const lists = parsed(path, "list", text, revocationListsOf);
  if (lists.every((list) => cas.some((ca) => list.isSignedBy(ca)))) return;
  throw invalidOption(`${path} has a revocation list that no CA of the bundle has signed`);
}

/** Checks the files as OpenSSL does, which also refuses well-formed PEM, e.g. keys that are too short. */
function checkContext(tls: TlsMaterial, path: string): void {
  try {
    createSecureContext(tls);
  } catch (err) {
    throw invalidOption(`${path} cannot be used: ${errorText(err)}`, err);
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (err) {
    throw invalidOption(`cannot read ${path}: ${errorText(err)}`, err);
  }
}

/** The message contains the hint, because programs often log only an error's message. */
function parsed<T>(path: string, kind: PemKind, text: string, parse: (text: string) => T): T {
  try {
    return readPem(text, kind, path, parse);
  } catch (err) {
    throw invalidOption(errorTextWithHint(err), err);
  }
}

/** A new token is created this long before the old one expires, or at half of its lifetime if that is later. */
const RENEW_BEFORE_MS = 30_000;

/** Tokens bound to one certificate; each is replaced before it expires. */
export class Tokens {
  readonly #jwt: Required<JwtOptions>;
  readonly #leaf: X509Certificate;
  readonly #server: ServerClock;
  readonly #now: () => number;
  #key: KeyObject;
  #text = "";
  #issuedAt = 0;
  #renewsAt = Number.NEGATIVE_INFINITY;

  /** `now`: the wall clock, ms. */
  constructor(
    jwt: Required<JwtOptions>,
    { signingKey, leaf }: Credentials,
    now: () => number,
    server = new ServerClock(now),
  ) {
    this.#server = server;
    this.#jwt = jwt;
    this.#key = signingKey;
    this.#leaf = leaf;
    this.#now = now;
  }

  /** When to replace the current token, wall clock, ms. */
  get renewsAt(): number {
    return this.#renewsAt;
  }

  /** A valid token; signs a new one if the current one is due for renewal or the clock was set back. */
  current(): string {
    const now = this.#now();
    const clockWasSetBack = now < this.#issuedAt - RENEW_BEFORE_MS;
    if (now >= this.#renewsAt || clockWasSetBack) this.#renew(now);
    return this.#text;
  }

  /** Signs tokens with this key from now on. */
  useKey(key: KeyObject): void {
    if (this.#key.equals(key)) return;
    this.#key = key;
    this.renew();
  }

  /**
   * Makes the next call of `current` sign a new token: the bridge refused the current one's times, or a better estimate
   * of its clock is known.
   */
  renew(): void {
    this.#renewsAt = Number.NEGATIVE_INFINITY;
  }

  /** Signs a token whose times are in the bridge's clock, by which the bridge checks them. */
  #renew(now: number): void {
    const issuedAt = Math.floor(this.#server.now() / 1000);
    const ttl = Math.floor(this.#jwt.ttlMs / 1000);
    this.#text = signedToken(this.#key, claimsOf(this.#jwt, this.#leaf, issuedAt, ttl));
    this.#issuedAt = Math.floor(now / 1000) * 1000;
    this.#renewsAt = this.#issuedAt + ttl * 1000 - Math.min(RENEW_BEFORE_MS, ttl * 500);
  }
}

function claimsOf(jwt: Required<JwtOptions>, leaf: X509Certificate, issuedAt: number, ttl: number) {
  return {
    iss: jwt.issuer,
    sub: jwt.subject,
    project_id: jwt.projectId,
    aud: jwt.audience,
    iat: issuedAt,
    exp: issuedAt + ttl,
    scope: jwt.scope,
    cnf: { "x5t#S256": hash("sha256", leaf.raw, "base64url") },
  };
}

/** A JWT (RFC 7519) signed with Ed25519. */
function signedToken(key: KeyObject, claims: object): string {
  const text = `${encoded({ alg: "EdDSA", typ: "JWT" })}.${encoded(claims)}`;
  return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`;
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
