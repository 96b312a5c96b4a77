import type { CertificateFacts, Subtrees } from "./certificate-facts.ts";
import { type GeneralName, nameText } from "./der/general-names.ts";

/** A permitted name that cannot exist, so that no name of its kind is permitted: .invalid is reserved (RFC 2606). */
export const NO_NAME = "none.invalid";

/** A name in a certificate that a CA above it may not certify, and why. */
export interface NameViolation {
  readonly name: string;
  readonly why: "excluded" | "not permitted";
}

/**
 * The first name of a leaf that the constraints of a CA above it forbid (RFC 5280 §4.2.1.10). As in OpenSSL, a common
 * name that looks like a host counts as a DNS name if the certificate has no DNS name.
 */
export function nameViolation(leaf: CertificateFacts, constraints: Subtrees): NameViolation | undefined {
  const own: GeneralName[] = [...leaf.names];
  const { commonName } = leaf;
  const hasDns = own.some(({ type }) => type === "dns");
  if (!hasDns && commonName !== undefined && looksLikeHost(commonName)) own.push({ type: "dns", value: commonName });
  own.push({ type: "directory", value: leaf.subject });
  for (const name of own) {
    const why = violationOf(name, constraints);
    if (why !== undefined) return { name: nameText(name), why };
  }
  return undefined;
}

function violationOf(name: GeneralName, { permitted, excluded }: Subtrees): NameViolation["why"] | undefined {
  if (excluded.some((base) => base.type === name.type && isWithin(name, base) !== false)) return "excluded";
  const allowed = permitted.filter((base) => base.type === name.type);
  const isPermitted = allowed.length === 0 || allowed.some((base) => isWithin(name, base) === true);
  return isPermitted ? undefined : "not permitted";
}

/** Undefined if the name cannot be judged: its kind is not supported, or it is malformed. */
function isWithin(name: GeneralName, base: GeneralName): boolean | undefined {
  if (name.type === "dns" && base.type === "dns") return isWithinDomain(name.value, base.value);
  if (name.type === "uri" && base.type === "uri") {
    const host = hostOf(name.value);
    return host === undefined ? undefined : isHostWithin(host, base.value);
  }
  if (name.type === "email" && base.type === "email") return isMailboxWithin(name.value, base.value);
  if (name.type === "ip" && base.type === "ip") return isAddressWithin(name.value, base.value);
  return undefined;
}

/** A domain matches itself and its subdomains; the empty domain matches every name. */
function isWithinDomain(name: string, domain: string): boolean {
  const [host, base] = [name.toLowerCase(), domain.toLowerCase()];
  if (base === "" || host === base) return true;
  return host.endsWith(base.startsWith(".") ? base : `.${base}`);
}

/** A host matches only itself; a host with a leading dot matches its subdomains only. */
function isHostWithin(host: string, base: string): boolean {
  const wanted = base.toLowerCase();
  return wanted.startsWith(".") ? host.length > wanted.length && host.endsWith(wanted) : host === wanted;
}

function isMailboxWithin(mailbox: string, base: string): boolean | undefined {
  const at = mailbox.lastIndexOf("@");
  if (at < 0) return undefined;
  if (base.includes("@")) return mailbox === base;
  return isHostWithin(mailbox.slice(at + 1).toLowerCase(), base);
}

function isAddressWithin(address: Uint8Array, base: Uint8Array): boolean | undefined {
  if (address.length !== 4 && address.length !== 16) return undefined;
  if (base.length !== address.length * 2) return base.length === 8 || base.length === 32 ? false : undefined;
  return address.every((byte, i) => {
    const mask = base[address.length + i] ?? 0;
    return (byte & mask) === ((base[i] ?? 0) & mask);
  });
}

/** The host of a URI with an authority, in lower case; undefined without one. */
function hostOf(uri: string): string | undefined {
  const [, host] = /^[^:]+:\/\/(?:[^@/]*@)?([^:/?#]+)/.exec(uri) ?? [];
  return host?.toLowerCase();
}

function looksLikeHost(commonName: string): boolean {
  return /^(?!-)[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+$/.test(commonName);
}
