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
  /** What the other side's certificate must lead to; system roots are never used. */
  readonly ca: string;
}

/** The CA that a client trusts, its own certificate where it has one, and what it knows beside them. */
export interface ClientTls extends Pick<TlsMaterial, "ca">, Partial<Pick<TlsMaterial, "cert" | "key">> {
  /**
   * Whether the server's certificate is the one that is meant: `instead` of the check that it has the name that was
   * dialled, `also` beside it, or an error. Default `also`.
   */
  readonly identify?: (server: X509Certificate) => "instead" | "also" | Error;
  /** Why this server is not spoken to although its chain and name are good, e.g. because it is revoked. */
  readonly refuse?: (server: X509Certificate, chain: readonly X509Certificate[]) => Error | undefined;
}

type TlsOptions = Pick<
  SecureServerOptions,
  "cert" | "key" | "ca" | "minVersion" | "maxVersion" | "requestCert" | "rejectUnauthorized"
> & { readonly allowPartialTrustChain: true };

/** Certificate and key come together. */
type OwnFiles = Pick<ClientTls, "ca" | "cert" | "key">;

/**
 * Everything a server's TLS context is made of: TLS 1.3 only, client certificate required, or optional: then the
 * listener refuses one that does not verify, after the handshake. Used whole for the first
 * context and for each later one, because `setSecureContext` falls back to a default for whatever is left out: without
 * `minVersion` TLS 1.2 is open again, without `ca` the system's roots count and our own clients do not.
 *
 * Revocation lists are not given to OpenSSL: with one it refuses every caller whose CA has none, and every caller once
 * one is out of date, and it never looks at a connection again. That is `admit`'s work.
 */
export function serverTlsOptions(material: TlsMaterial, isCertificateOptional = false): TlsOptions {
  return { ...commonOptions(material), requestCert: true, rejectUnauthorized: !isCertificateOptional };
}

/** The same for a client: TLS 1.3 only, the server's certificate and name are verified. */
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

/** Longer chains are loops; Node ends one with a certificate that is its own issuer. */
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
