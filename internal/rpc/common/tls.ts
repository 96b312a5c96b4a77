import { X509Certificate } from "node:crypto";
import type { SecureServerOptions } from "node:http2";
import {
  type ConnectionOptions,
  checkServerIdentity,
  type DetailedPeerCertificate,
  type PeerCertificate,
} from "node:tls";

/** PEM texts of one side of a mutual TLS connection. */
export interface TlsMaterial {
  /** Leaf first, then the chain. */
  readonly cert: string;
  readonly key: string;
  /** CAs to which the peer's certificate must lead; system roots are never used. */
  readonly ca: string;
}

/** The CA that a client trusts, its own certificate if it has one, and further checks of the server. */
export interface ClientTls extends Pick<TlsMaterial, "ca">, Partial<Pick<TlsMaterial, "cert" | "key">> {
  /**
   * Identifies the server by its certificate. `instead` replaces the check that the certificate has the dialled name,
   * `also` adds to that check, an error refuses the server. Default `also`.
   */
  readonly identify?: ((server: X509Certificate) => "instead" | "also" | Error) | undefined;
  /** Refuses a server whose chain and name are valid, e.g. because its certificate is revoked. */
  readonly refuse?: ((server: X509Certificate, chain: readonly X509Certificate[]) => Error | undefined) | undefined;
}

type TlsOptions = Pick<
  SecureServerOptions,
  "cert" | "key" | "ca" | "minVersion" | "maxVersion" | "requestCert" | "rejectUnauthorized"
> & { readonly allowPartialTrustChain: true };

/** Certificate and key are given together. */
type OwnFiles = Pick<ClientTls, "ca" | "cert" | "key">;

/**
 * All options of a server's TLS context: TLS 1.3 only; a client certificate is required, or optional (the listener then
 * refuses one that does not verify, after the handshake). Use all of them for the first context and for each later one:
 * `setSecureContext` sets omitted options to their defaults, so that without `minVersion` TLS 1.2 is accepted again,
 * and without `ca` the system's roots are trusted and our own clients are not.
 *
 * Revocation lists are not passed to OpenSSL: with one, it refuses every caller whose CA has no list, and all callers
 * once a list is out of date, and it never checks a connection again. `admit` checks revocation instead.
 */
export function serverTlsOptions(material: TlsMaterial, isCertificateOptional = false): TlsOptions {
  return { ...commonOptions(material), requestCert: true, rejectUnauthorized: !isCertificateOptional };
}

/** The options for a client: TLS 1.3 only; the server's certificate and name are verified. */
export function clientTlsOptions(tls: ClientTls): ConnectionOptions {
  const { refuse, identify } = tls;
  if (refuse === undefined && identify === undefined) return commonOptions(tls);
  const check = (host: string, server: PeerCertificate) => {
    const certificate = new X509Certificate(server.raw);
    const identity = identify?.(certificate) ?? "also";
    if (identity instanceof Error) return identity;
    const wrongName = identity === "also" ? checkServerIdentity(host, server) : undefined;
    return wrongName ?? refuse?.(certificate, chainOf(server));
  };
  return { ...commonOptions(tls), checkServerIdentity: check };
}

/** A chain is not followed beyond this length; in Node's chains, the last certificate is its own issuer. */
const MAX_CHAIN = 8;

function chainOf(server: PeerCertificate): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let next: PeerCertificate | undefined = (server as Partial<DetailedPeerCertificate>).issuerCertificate;
  while (next !== undefined && chain.length < MAX_CHAIN) {
    chain.push(new X509Certificate(next.raw));
    const above: PeerCertificate | undefined = (next as Partial<DetailedPeerCertificate>).issuerCertificate;
    next = above === next ? undefined : above;
  }
  return chain;
}

function commonOptions({ cert, key, ca }: OwnFiles): TlsOptions {
  const version = { minVersion: "TLSv1.3", maxVersion: "TLSv1.3" } as const;
  const own = cert === undefined || key === undefined ? {} : { cert, key };
  return { ...own, ca, ...version, rejectUnauthorized: true, allowPartialTrustChain: true };
}
