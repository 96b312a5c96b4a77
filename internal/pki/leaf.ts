import type { KeyObject } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import { BACKDATE_MS, certify, commonName, type Signer } from "./certify.ts";
import { hostName, isDnsName } from "./der/general-names.ts";
import {
  crlDistributionPoints,
  extendedKeyUsage,
  keyUsage,
  leafConstraints,
  type NameSubtrees,
  subjectAltName,
} from "./extensions.ts";
import { clientId, isTrustDomain, sidecarDnsName, sidecarId, trustDomainOf } from "./trust-domain.ts";

/** The purpose of a leaf. */
type LeafType = "server" | "client" | "sidecar";

export interface LeafOptions {
  readonly type: LeafType;
  /** The host of a server, the name of a client or the session of a sidecar. */
  readonly name: string;
  /** Further host names and addresses. */
  readonly hosts: readonly string[];
  /** URIs as given; those of a client replace the id that is made from its name. */
  readonly uris: readonly string[];
  /** Default: the CA's. */
  readonly trustDomain: string | undefined;
  /** Only for a sidecar. */
  readonly namespace: string;
  readonly crlUrl: string | undefined;
  readonly days: number;
  /** Wall clock, ms. */
  readonly now: number;
}

type LeafNames = NameSubtrees["permitted"];

const DAY_MS = 86_400_000;
/** The longest common name that X.520 allows. */
const MAX_COMMON_NAME = 64;
/** As in the SPIFFE standard: no empty segment, no segment `.` or `..`, and only these characters. */
const SPIFFE_ID = /^spiffe:\/\/[a-z0-9._-]+(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)+$/;
const SESSION_ID = /^spiffe:\/\/[^/]+\/ns\/[^/]+\/session(?:\/|$)/;

/**
 * A certificate for a server, a client or a session's sidecar. PEM. It expires no later than its CA.
 * @throws DomainError `invalid` for a name that cannot be certified
 */
export function newLeaf(options: LeafOptions, publicKey: KeyObject, signer: Signer): string {
  const usage = options.type === "client" ? "clientAuth" : "serverAuth";
  const names = namesOf(options, signer);
  const extensions = [leafConstraints(), keyUsage("digitalSignature"), extendedKeyUsage(usage), subjectAltName(names)];
  if (options.crlUrl !== undefined) extensions.push(crlDistributionPoints([options.crlUrl]));
  const dates = leafDates(options, signer);
  return certify({ subject: commonName(subjectOf(options.name)), publicKey, ...dates, extensions }, signer);
}

/** Valid from a minute ago, for `days`, but no longer than the CA. */
export function leafDates({ days, now }: { readonly days: number; readonly now: number }, signer: Signer) {
  const notBefore = now - BACKDATE_MS;
  return { notBefore, notAfter: Math.min(notBefore + days * DAY_MS, signer.certificate.validToDate.getTime()) };
}

function namesOf(options: LeafOptions, signer: Signer): LeafNames {
  const { type, name, namespace } = options;
  const hosts = options.hosts.map((host) => hostName(host, "--san"));
  const uris = options.uris.map((uri) => ({ type: "uri" as const, value: checkedUri(uri, type) }));
  if (type === "server") return unique([...serverNames(name), ...hosts, ...uris]);
  if (type === "client") {
    const own = uris.length > 0 ? uris : [{ type: "uri" as const, value: clientId(domainOf(options, signer), name) }];
    return unique([...own, ...hosts]);
  }
  if (uris.length > 0) throw new DomainError("invalid", "--uri is not for a sidecar: its id follows from its session");
  const domain = domainOf(options, signer);
  const dns = { type: "dns" as const, value: sidecarDnsName(domain, namespace, name) };
  return unique([{ type: "uri", value: sidecarId(domain, namespace, name) }, dns, ...hosts]);
}

/** A common name that is not a host is left out of the alternative names; `hosts` must then name the server. */
function serverNames(name: string): LeafNames {
  return isDnsName(name.toLowerCase().replace(/^\*\./, "")) || /^[\d.]+$|:/.test(name) ? [hostName(name, "--cn")] : [];
}

function domainOf({ trustDomain, type }: LeafOptions, signer: Signer): string {
  const domain = trustDomain ?? trustDomainOf(signer.certificate);
  if (domain === undefined) {
    throw new DomainError("invalid", `the CA has no trust domain for the ${type}'s id`, {
      fields: { hint: "give one with --trust-domain, e.g. --trust-domain example.org" },
    });
  }
  if (isTrustDomain(domain)) return domain;
  throw new DomainError("invalid", `--trust-domain takes lower-case letters, digits, dots and dashes, not ${domain}`);
}

function checkedUri(uri: string, type: LeafType): string {
  const isUri = /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9._-]+(?:\/[\x21-\x7e]*)?$/.test(uri);
  if (!isUri || (uri.startsWith("spiffe:") && !SPIFFE_ID.test(uri))) {
    throw new DomainError("invalid", `--uri takes a URI such as spiffe://domain/path, not ${JSON.stringify(uri)}`);
  }
  if (SESSION_ID.test(uri)) {
    throw new DomainError("invalid", `${uri} is a sidecar's id: a ${type} with it would be refused everywhere`, {
      fields: { hint: "use --type sidecar --cn SESSION --namespace NAMESPACE" },
    });
  }
  return uri;
}

function subjectOf(name: string): string {
  const characters = [...name];
  if (characters.length === 0 || /[\x00-\x1f\x7f]/.test(name)) {
    throw new DomainError("invalid", "--cn must not be empty and must not hold control characters");
  }
  return characters.slice(0, MAX_COMMON_NAME).join("");
}

function unique(names: LeafNames): LeafNames {
  const keyOf = (name: LeafNames[number]) => `${name.type} ${Buffer.from(name.value).toString("hex")}`;
  const all = [...new Map(names.map((name) => [keyOf(name), name])).values()];
  if (all.length === 0) {
    throw new DomainError("invalid", "the certificate would name no host", {
      fields: { hint: "give its names with --san" },
    });
  }
  return all;
}
