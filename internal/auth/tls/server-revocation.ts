import type { X509Certificate } from "node:crypto";
import { certificatesOf } from "../../pki/pem.ts";
import { revocationListsOf } from "../../pki/revocation-list.ts";
import { Trust } from "../../pki/trust.ts";

/**
 * What a client asks of a server's certificate beside the handshake: whether a revocation list of its CA names it. A CA
 * without a list has revoked nothing; one that is out of date still counts.
 *
 * @param now wall clock, ms
 * @throws DomainError `invalid` for a list or a CA that cannot be read
 */
export function serverRevocation(
  ca: string,
  crl: string,
  now: () => number,
): (server: X509Certificate, chain: readonly X509Certificate[]) => Error | undefined {
  const trust = new Trust(certificatesOf(ca), revocationListsOf(crl));
  return (server, chain) => {
    if (trust.standing(server, now(), chain) !== "revoked") return undefined;
    return Object.assign(new Error("the server's certificate is revoked"), { code: "CERT_REVOKED" });
  };
}
