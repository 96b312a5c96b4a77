import { createHash, type X509Certificate } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import { factsOf } from "./certificate-facts.ts";
import { isDnsName } from "./der/general-names.ts";

const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$/;
const NAMESPACE = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;

/**
 * A trust domain: the part of a SPIFFE id after `spiffe://`, of lower-case letters, digits, dots, dashes, underscores.
 */
export function isTrustDomain(text: string): boolean {
  return isDnsName(text);
}

/**
 * The trust domain of a CA: that of the pathless SPIFFE id in its certificate, else its common name if that is a valid
 * trust domain; undefined: it has none.
 */
export function trustDomainOf(ca: X509Certificate): string | undefined {
  const { names, commonName } = factsOf(ca);
  const ids = names.flatMap((name) =>
    name.type === "uri" ? (/^spiffe:\/\/([^/]+)\/?$/.exec(name.value)?.[1] ?? []) : [],
  );
  const domain = ids[0] ?? commonName;
  return domain !== undefined && isTrustDomain(domain) ? domain : undefined;
}

/** @throws DomainError `invalid` when `name` cannot be a segment of a SPIFFE id's path */
export function clientId(trustDomain: string, name: string): string {
  return `spiffe://${trustDomain}/client/${segment("--cn", name)}`;
}

/** @throws DomainError `invalid` when `namespace` or `session` cannot be part of a SPIFFE id */
export function sidecarId(trustDomain: string, namespace: string, session: string): string {
  return `spiffe://${trustDomain}/ns/${checkedNamespace(namespace)}/session/${segment("--cn", session)}`;
}

/** The DNS name in the certificate of a session's sidecar, at whatever address clients dial it. */
export function sidecarDnsName(trustDomain: string, namespace: string, session: string): string {
  const label = createHash("sha256").update(session).digest("hex").slice(0, 32);
  return `${label}.${checkedNamespace(namespace)}.${sessionDomain(trustDomain)}`;
}

/** The DNS domain of all sidecars of a trust domain. */
export function sessionDomain(trustDomain: string): string {
  return `session.${trustDomain}`;
}

function segment(flag: string, text: string): string {
  if (SEGMENT.test(text)) return text;
  throw new DomainError("invalid", `${flag} ${JSON.stringify(text)} cannot be part of a SPIFFE id`, {
    fields: { hint: "use 1 to 128 letters, digits, dots, dashes and underscores; or give the whole id with --uri" },
  });
}

function checkedNamespace(text: string): string {
  if (NAMESPACE.test(text)) return text;
  throw new DomainError("invalid", `--namespace takes a Kubernetes namespace, not ${JSON.stringify(text)}`);
}
