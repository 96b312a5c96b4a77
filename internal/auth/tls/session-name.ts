import { createHash, type X509Certificate } from "node:crypto";
import { dnsNamesOf } from "../../base/text/uri-names.ts";
import { identitiesOf } from "./identities.ts";

const SIDECAR = /^spiffe:\/\/([^/]+)\/ns\/([^/]+)\/session\/([^/]+)$/;
const SESSION_NAME = /^([0-9a-f]{32})\.([^.]+)\.session\.(.+)$/;

/** How a server's certificate relates to the expected session. */
export type SessionClaim =
  /** A DNS name is that of the expected session: the address that was dialled does not matter. */
  | { readonly type: "by-name" }
  /** A URI name is that of the expected session, and no DNS name is a session's. */
  | { readonly type: "by-uri" }
  /** The certificate names no session. */
  | { readonly type: "silent" }
  | { readonly type: "another"; readonly named: string };

/**
 * Compares a sidecar's certificate with the expected session: `<first 32 hex digits of
 * sha256(session)>.<namespace>.session.<trust domain>` among its DNS names and `spiffe://<trust
 * domain>/ns/<namespace>/session/<session>` among its URI names.
 *
 * @param trustDomain the caller's own; undefined: any
 * @param namespace the namespace of the session's pod; undefined: any
 */
export function sessionClaim(
  server: X509Certificate,
  session: string,
  trustDomain: string | undefined,
  namespace?: string,
): SessionClaim {
  const uris = identitiesOf(server).flatMap((uri) => {
    const [, domain = "", within = "", id] = SIDECAR.exec(uri) ?? [];
    return id === undefined ? [] : [{ domain, within, id, text: uri }];
  });
  const names = dnsNamesOf(server.subjectAltName ?? "").flatMap((name) => {
    const [, hash, within = "", domain = ""] = SESSION_NAME.exec(name) ?? [];
    return hash === undefined ? [] : [{ domain, within, id: hash, text: name }];
  });
  const hash = createHash("sha256").update(session).digest("hex").slice(0, 32);
  const isMeant = ({ domain, within }: (typeof uris)[number]) =>
    (trustDomain === undefined || domain === trustDomain) && (namespace === undefined || within === namespace);
  const [uri] = uris;
  const [name] = names;
  if (uri !== undefined && !uris.some((one) => isMeant(one) && one.id === session))
    return { type: "another", named: uri.text };
  if (name !== undefined && !names.some((one) => isMeant(one) && one.id === hash))
    return { type: "another", named: name.text };
  if (names.length > 0) return { type: "by-name" };
  return uris.length > 0 ? { type: "by-uri" } : { type: "silent" };
}

/** The trust domain of a caller's own certificate; undefined if the certificate names none. */
export function ownTrustDomain(own: X509Certificate): string | undefined {
  return identitiesOf(own)
    .map((uri) => /^spiffe:\/\/([^/]+)\//.exec(uri)?.[1])
    .find((domain) => domain !== undefined);
}
