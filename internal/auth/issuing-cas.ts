import { hash, type X509Certificate } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import type { Trust } from "../pki/trust.ts";
import { boundedName, identitiesOf } from "./tls/identities.ts";

/** The rule that decides whether an issuer's tokens are valid with a certificate. */
export interface IssuerRule {
  readonly issuer: string;
  /**
   * The issuer's CAs, each as a certificate or as the SHA-256 of one (64 lower-case hex digits). Default: the CA whose
   * subject CN is `issuer`.
   */
  readonly cas?: readonly (string | X509Certificate)[] | undefined;
  /** The projects for which the issuer may sign tokens. Default: any. */
  readonly projects?: readonly string[] | undefined;
}

/** A caller's certificate, and the CAs to judge it by. */
export interface CallerChain {
  readonly certificate: X509Certificate;
  /** The CA that signed `certificate`. */
  readonly issuer: X509Certificate;
  /** All trusted CAs. */
  readonly cas: readonly X509Certificate[];
  /** `issuer` also signed our own certificate. */
  readonly isOwn: boolean;
}

/**
 * True if the issuer's tokens are valid with the certificate: if the issuer's CA has signed it, or our own CA has
 * signed it for a client with the issuer's name. A token stolen from one project is thus useless to another.
 */
export function acceptsCertificate(rule: IssuerRule, facts: CallerChain): boolean {
  const { certificate, issuer, cas, isOwn } = facts;
  if (isOwn && clientNamesOf(certificate).includes(rule.issuer)) return true;
  if (rule.cas === undefined) {
    const named = casNamed(rule.issuer, cas);
    return named.size === 1 && named.has(caKeyOf(issuer));
  }
  return rule.cas.some((ca) => {
    if (typeof ca !== "string") return caKeyOf(ca) === caKeyOf(issuer);
    // A CA has several certificates while a cross-signature is being replaced.
    return [issuer, ...cas].some((one) => fingerprintOf(one) === ca && caKeyOf(one) === caKeyOf(issuer));
  });
}

/**
 * Checks that each issuer's CA is unambiguous.
 * @throws DomainError `invalid` if two CAs have the name of an issuer, or no CA has a given fingerprint
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
 * True if the rule names the issuer's CAs, or a trusted CA has the issuer's name. Otherwise the issuer's tokens are
 * valid only with certificates of our own CA.
 */
export function hasTrustedCa({ issuer, cas: named }: IssuerRule, cas: readonly X509Certificate[]): boolean {
  return named !== undefined || casNamed(issuer, cas).size > 0;
}

/**
 * Identities of a certificate without URI names: `<SHA-256 of its CA>/<CN>`, with the CN percent-encoded except for
 * letters, digits and `-_.!~*'()`. If several trusted certificates belong to the CA, there is an identity for each; the
 * first is for the certificate in the chain. Empty if no trusted CA has issued the certificate, or it does not have
 * exactly one CN.
 *
 * @param now wall clock, ms
 */
export function identitiesByCommonName(certificate: X509Certificate, trust: Trust, now: number): readonly string[] {
  const issuer = trust.issuerOf(certificate, now);
  const name = commonNameOf(certificate);
  if (issuer === undefined || name === undefined || name === "") return [];
  const others = trust.cas.filter((ca) => ca !== issuer && caKeyOf(ca) === caKeyOf(issuer));
  const encoded = boundedName(encodeURIComponent(name.toWellFormed()));
  return [issuer, ...others].map((ca) => `${fingerprintOf(ca)}/${encoded}`);
}

/** SHA-256 of a certificate, 64 lower-case hex digits. */
export function fingerprintOf(certificate: X509Certificate): string {
  return certificate.fingerprint256.replaceAll(":", "").toLowerCase();
}

/** Identifies a CA by name and key, which stay the same when its certificate is renewed or cross-signed. */
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

/** The certificate's only CN; undefined if it has none or several. */
function commonNameOf(certificate: X509Certificate): string | undefined {
  if (!COMMON_NAMES.has(certificate)) {
    const name: unknown = certificate.toLegacyObject().subject?.CN;
    COMMON_NAMES.set(certificate, typeof name === "string" ? name : undefined);
  }
  return COMMON_NAMES.get(certificate);
}

/** A cache: reading a name takes as long as the rest of a call's check. */
const COMMON_NAMES = new WeakMap<X509Certificate, string | undefined>();
