import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { DomainError } from "../base/errors.ts";
import { checkAuthority, isSelfSigned } from "./authority.ts";
import { factsOf } from "./certificate-facts.ts";
import { BACKDATE_MS, certify, type Signer } from "./certify.ts";
import { addressBytes, isDnsName } from "./der/general-names.ts";
import {
  caConstraints,
  crlDistributionPoints,
  extendedKeyUsage,
  keyUsage,
  type NameSubtrees,
  nameConstraints,
} from "./extensions.ts";
import { NO_NAME } from "./name-constraints.ts";
import { isTrustDomain, sessionDomain, trustDomainOf } from "./trust-domain.ts";

export interface CrossSignatureOptions {
  readonly usage: "client" | "server";
  /** Server: DNS names that the CA may certify, with all their subdomains. */
  readonly permitDns: readonly string[];
  /** Server: addresses or networks (`10.0.0.0/8`) that it may certify. */
  readonly permitIp: readonly string[];
  /** Client: the trust domain in which it may certify ids. Default: the target CA's own. */
  readonly trustDomain: string | undefined;
  readonly crlUrl: string | undefined;
  readonly days: number;
  /** Wall clock, ms. */
  readonly now: number;
}

type Names = NameSubtrees["permitted"];

const DAY_MS = 86_400_000;
const NO_NAMES = { dns: { type: "dns", value: NO_NAME }, uri: { type: "uri", value: NO_NAME } } as const;
const NO_EMAIL = { type: "email", value: NO_NAME } as const;
const EVERY_ADDRESS: Names = [
  { type: "ip", value: new Uint8Array(8) },
  { type: "ip", value: new Uint8Array(32) },
];

/**
 * Certifies another CA's name and key for one purpose: it may sign leaves for clients or for servers, but no CAs and no
 * names in the signer's own trust domain. PEM.
 *
 * Clients: ids of one trust domain only, by default the target's own. Servers: the permitted DNS names and addresses
 * only; no ids, no mailboxes. A kind of name that is not allowed at all is permitted only for a name that cannot exist,
 * because OpenSSL ignores an empty excluded URI or mailbox.
 * @throws DomainError `denied` for a target that must not be certified, `invalid` for names that cannot be permitted
 */
export function crossSign(target: X509Certificate, signer: Signer, options: CrossSignatureOptions): string {
  checkTarget(target, signer.certificate, options.now);
  const { subject, subjectKeyId } = factsOf(target);
  const subtrees =
    options.usage === "client" ? clientSubtrees(target, signer, options) : serverSubtrees(signer, options);
  const notBefore = options.now - BACKDATE_MS;
  const ends = [target, signer.certificate].map((ca) => ca.validToDate.getTime());
  const extensions = [
    caConstraints(0),
    keyUsage("keyCertSign", "crlSign"),
    extendedKeyUsage(options.usage === "client" ? "clientAuth" : "serverAuth"),
    nameConstraints(subtrees),
    ...(options.crlUrl === undefined ? [] : [crlDistributionPoints([options.crlUrl])]),
  ];
  const content = {
    subject,
    publicKey: target.publicKey,
    notBefore,
    notAfter: Math.min(notBefore + options.days * DAY_MS, ...ends),
    extensions,
    keyId: subjectKeyId,
  };
  return certify(content, signer);
}

function checkTarget(target: X509Certificate, own: X509Certificate, now: number): void {
  checkAuthority(target, now, "the target CA");
  const [theirs, ours] = [factsOf(target), factsOf(own)];
  if (target.publicKey.equals(own.publicKey)) throw new DomainError("denied", "the target CA has the signer's own key");
  if (theirs.subject.equals(ours.subject)) {
    throw new DomainError(
      "denied",
      "the target CA has the same name as the signer: the two could not be distinguished",
    );
  }
  if (theirs.subject.equals(theirs.issuer) && !isSelfSigned(target)) {
    throw new DomainError("denied", "the target CA's certificate is damaged: its signature does not match");
  }
}

function clientSubtrees(target: X509Certificate, signer: Signer, options: CrossSignatureOptions): NameSubtrees {
  if (options.permitDns.length + options.permitIp.length > 0) {
    throw new DomainError("invalid", "--permit-dns and --permit-ip are for --usage server");
  }
  const own = trustDomainOf(signer.certificate);
  const theirs = options.trustDomain ?? trustDomainOf(target);
  if (theirs !== undefined && !isTrustDomain(theirs)) {
    throw new DomainError("invalid", `--trust-domain takes lower-case letters, digits, dots and dashes, not ${theirs}`);
  }
  if (theirs !== undefined && theirs === own) {
    throw new DomainError("denied", `the target CA's trust domain would be the signer's own, ${own}`, {
      fields: { hint: "each CA needs its own trust domain: bridge-ca init --name NAME --trust-domain DOMAIN" },
    });
  }
  const permitted: Names = [theirs === undefined ? NO_NAMES.uri : { type: "uri", value: theirs }, NO_EMAIL];
  return { permitted, excluded: ownNames(own) };
}

function serverSubtrees(signer: Signer, { permitDns, permitIp }: CrossSignatureOptions): NameSubtrees {
  if (permitDns.length + permitIp.length === 0) {
    throw new DomainError("invalid", "--usage server needs the names that the CA may certify", {
      fields: { hint: "give them with --permit-dns NAME, and addresses with --permit-ip ADDRESS" },
    });
  }
  const own = trustDomainOf(signer.certificate);
  const dns = permitDns.map((name) => ({ type: "dns" as const, value: permittedDomain(name, own) }));
  const addresses = permitIp.map((text) => ({ type: "ip" as const, value: network(text) }));
  const noOther = EVERY_ADDRESS.filter(({ value }) => !addresses.some((one) => one.value.length === value.length));
  return {
    permitted: [...(dns.length > 0 ? dns : [NO_NAMES.dns]), ...addresses, NO_NAMES.uri, NO_EMAIL],
    excluded: [...ownNames(own), ...noOther],
  };
}

/** The ids of the signer's own trust domain and the names of its sidecars. */
function ownNames(own: string | undefined): Names {
  if (own === undefined) return [];
  return [
    { type: "uri", value: own },
    { type: "uri", value: `.${own}` },
    { type: "dns", value: sessionDomain(own) },
  ];
}

function permittedDomain(text: string, own: string | undefined): string {
  const name = text.toLowerCase().replace(/^\*?\./, "");
  if (!isDnsName(name)) {
    throw new DomainError("invalid", `--permit-dns takes a DNS name, not ${JSON.stringify(text)}`, {
      fields: { hint: "addresses go into --permit-ip" },
    });
  }
  const sessions = own === undefined ? undefined : sessionDomain(own);
  if (sessions !== undefined && (name === sessions || name.endsWith(`.${sessions}`))) {
    throw new DomainError("denied", `${name} names sidecars of the signer's own trust domain`);
  }
  return name;
}

/** An address or a network in the form of name constraints: the address followed by its mask. */
function network(text: string): Buffer {
  const [address = "", prefix] = text.split("/");
  const bytes = isIP(address) === 0 ? undefined : addressBytes(address);
  const ones = prefix === undefined ? (bytes?.length ?? 0) * 8 : Number(/^\d{1,3}$/.exec(prefix)?.[0] ?? Number.NaN);
  if (bytes === undefined || !(ones >= 0 && ones <= bytes.length * 8)) {
    throw new DomainError("invalid", `--permit-ip takes an address or a network such as 10.0.0.0/8, not ${text}`);
  }
  const mask = bytes.map((_, i) => 0xff & ~(0xff >> Math.min(8, Math.max(0, ones - i * 8))));
  return Buffer.concat([bytes.map((byte, i) => byte & (mask[i] ?? 0)), mask]);
}
