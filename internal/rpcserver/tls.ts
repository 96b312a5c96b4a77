import type { SecureServerOptions } from "node:http2";

/** PEM texts of one side of a mutual TLS connection. */
export interface TlsMaterial {
  /** Leaf first, then the chain. */
  readonly cert: string;
  readonly key: string;
  /** What the other side's certificate must lead to; system roots are never used. */
  readonly ca: string;
  /** Revocation list. With one, every certificate's issuer needs one. */
  readonly crl?: string;
}

type TlsOptions = Pick<
  SecureServerOptions,
  "cert" | "key" | "ca" | "crl" | "minVersion" | "maxVersion" | "requestCert" | "rejectUnauthorized"
>;

/**
 * Everything a server's TLS context is made of: TLS 1.3 only, client certificate required. Used whole for the first
 * context and for each later one, because `setSecureContext` falls back to a default for whatever is left out: without
 * `minVersion` TLS 1.2 is open again, without `ca` the system's roots count and our own clients do not.
 */
export function serverTlsOptions(material: TlsMaterial): TlsOptions {
  return { ...commonOptions(material), requestCert: true };
}

/** The same for a client: TLS 1.3 only, the server's certificate and name are verified. */
export function clientTlsOptions(material: TlsMaterial): TlsOptions {
  return commonOptions(material);
}

function commonOptions(material: TlsMaterial): TlsOptions {
  const { cert, key, ca, crl } = material;
  const all: TlsOptions = { cert, key, ca, minVersion: "TLSv1.3", maxVersion: "TLSv1.3", rejectUnauthorized: true };
  return crl === undefined ? all : { ...all, crl };
}
