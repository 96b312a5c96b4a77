import { hash, type X509Certificate } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import type { Trust } from "../pki/trust.ts";
import { boundedName, identitiesOf } from "./tls/identities.ts";

/** Over whose certificates the tokens of an issuer count. */
export interface IssuerRule {
  readonly issuer: string;
  /**
   * The CAs, by SHA-256 of a certificate (64 hex digits, lower case) or by certificate. Default: that whose subject CN
   * is `issuer`.
   */
  readonly cas?: readonly (string | X509Certificate)[];
  /** The projects that the issuer may speak for. Default: any. */
  readonly projects?: readonly string[];
}

/** A caller by its certificate. */
export interface CertificateFacts {
  readonly certificate: X509Certificate;
  /** The CA that has signed it. */
  readonly issuer: X509Certificate;
  /** All CAs that are trusted. */
  readonly cas: readonly X509Certificate[];
  /** Our own certificate is of the same CA. */
  readonly isOwn: boolean;
}

/**
 * The tokens of an issuer count over certificates of its CA, and over those that our own CA has made for a client of
 * the issuer's name. So a token that is stolen from one project is of no use to another.
 */
export function countsOver(rule: IssuerRule, facts: CertificateFacts): boolean {
  const { certificate, issuer, cas, isOwn } = facts;
  if (isOwn && clientNamesOf(certificate).includes(rule.issuer)) return true;
  if (rule.cas === undefined) {
    const named = casNamed(rule.issuer, cas);
    return named.size === 1 && named.has(caKeyOf(issuer));
  }
  return rule.cas.some((ca) => {
    if (typeof ca !== "string") return caKeyOf(ca) === caKeyOf(issuer);
    // A CA has several certificates while one cross-signature replaces another.
    return [issuer, ...cas].some((one) => fingerprintOf(one) === ca && caKeyOf(one) === caKeyOf(issuer));
  });
}

/**
 * Whether each issuer's CA is clear.
 * @throws DomainError `invalid` for an issuer whose name two CAs bear, and for a fingerprint that no CA has
 */
export function checkIssuers(rules: readonly IssuerRule[], cas: readonly X509Certificate[]): void {
  for (const { issuer, cas: named } of rules) {
    if (named === undefined && casNamed(issuer, cas).size > 1) {
      throw new DomainError("invalid", `two CAs are named ${JSON.stringify(issuer)}: name the issuer's CA with "ca"`);
    }
    const unknown = named?.find((ca) => typeof ca === "string" && !cas.some((one) => fingerprintOf(one) === ca));
    if (unknown !== undefined) {
      throw new DomainError("invalid", `no trusted CA has the SHA-256 in "ca" of issuer ${JSON.stringify(issuer)}`);
    }
  }
}

/**
 * True when a CA of the issuer is among those that are trusted. Without one its tokens count over our own CA's
 * certificates only.
 */
export function hasTrustedCa({ issuer, cas: named }: IssuerRule, cas: readonly X509Certificate[]): boolean {
  return named !== undefined || casNamed(issuer, cas).size > 0;
}

/**
 * Who the owner of a certificate without a URI name is: `<SHA-256 of its CA>/<CN>`, the CN percent-encoded but for
 * letters, digits and `-_.!~*'()`. A CA that stands among those that are trusted with several certificates gives as
 * many identities; the first one is by the certificate that the chain leads over. Empty without a chain that is good,
 * and for no CN or several.
 *
 * @param now wall clock, ms
 */
export function namelessIdentities(certificate: X509Certificate, trust: Trust, now: number): readonly string[] {
  const issuer = trust.issuerOf(certificate, now);
  const name = commonNameOf(certificate);
  if (issuer === undefined || name === undefined || name === "") return [];
  const others = trust.cas.filter((ca) => ca !== issuer && caKeyOf(ca) === caKeyOf(issuer));
  const encoded = boundedName(encodeURIComponent(name.toWellFormed()));
  return [issuer, ...others].map((ca) => `${fingerprintOf(ca)}/${encoded}`);
}

/** SHA-256 of a certificate, 64 hex digits, lower case. */
export function fingerprintOf(certificate: X509Certificate): string {
  return certificate.fingerprint256.replaceAll(":", "").toLowerCase();
}

/** What stays the same when a CA's certificate is renewed or cross-signed: its name and key. */
export function caKeyOf(ca: X509Certificate): string {
  let key = KEYS.get(ca);
  if (key === undefined) {
    key = `${hash("sha256", ca.publicKey.export({ type: "spki", format: "der" }), "hex")} ${ca.subject}`;
    KEYS.set(ca, key);
  }
  return key;
}

const KEYS = new WeakMap<X509Certificate, string>();

function casNamed(commonName: string, cas: readonly X509Certificate[]): ReadonlySet<string> {
  return new Set(cas.filter((ca) => commonNameOf(ca) === commonName).map(caKeyOf));
}

const CLIENT = /^spiffe:\/\/[^/]+\/client\/([^/]+)$/;

function clientNamesOf(certificate: X509Certificate): readonly string[] {
  const uris = identitiesOf(certificate);
  if (uris.length > 0) return uris.flatMap((uri) => CLIENT.exec(uri)?.[1] ?? []);
  return [commonNameOf(certificate) ?? []].flat();
}

/** Undefined for none, and for several. */
function commonNameOf(certificate: X509Certificate): string | undefined {
  if (!COMMON_NAMES.has(certificate)) {
    const name: unknown = certificate.toLegacyObject().subject?.CN;
    COMMON_NAMES.set(certificate, typeof name === "string" ? name : undefined);
  }
  return COMMON_NAMES.get(certificate);
}

/** To read one takes as long as the rest of a call's check. */
const COMMON_NAMES = new WeakMap<X509Certificate, string | undefined>();
