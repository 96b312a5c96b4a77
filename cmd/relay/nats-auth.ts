import { existsSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import { type Authenticator, credsAuthenticator, nkeyAuthenticator } from "@nats-io/transport-node";
import { DomainError } from "../../internal/base/errors.ts";
import { readNamedFileSync } from "../../internal/files/named-file.ts";
import { readPem } from "../../internal/pki/explain-pem.ts";
import { certificatesOf } from "../../internal/pki/pem.ts";
import { checkOwnTls } from "../../internal/pki/tls-files.ts";
import type { BusOptions } from "../../internal/relay/nats/bus.ts";

/** Credentials of the relay for NATS, as paths, and the prefix of its inboxes. */
export interface NatsCredentials {
  /** A user's JWT and seed, as `nsc` writes them. */
  readonly creds: string | undefined;
  /** A user's nkey seed. */
  readonly nkey: string | undefined;
  /** A folder with `ca.crt`, and with `tls.crt` and `tls.key` if the server requires a certificate. */
  readonly tlsDir: string | undefined;
  /** The prefix of the subjects of replies; undefined: `_INBOX`. */
  readonly inboxPrefix: string | undefined;
}

/**
 * The connection options for these credentials. Each connection reads the files again, so replaced files take effect
 * with the next one.
 * @throws DomainError `invalid`, naming the file that cannot be used
 */
export function natsAuth(
  url: string,
  { creds, nkey, tlsDir, inboxPrefix }: NatsCredentials,
): NonNullable<BusOptions["auth"]> {
  if (creds !== undefined && nkey !== undefined) {
    throw new DomainError("invalid", "NATS takes a creds file or an nkey, not both");
  }
  return {
    ...(creds !== undefined && { authenticator: usable(creds, "credentials", credsAuthenticator) }),
    ...(nkey !== undefined && { authenticator: usable(nkey, "nkey seed", nkeyOf) }),
    ...(inboxPrefix !== undefined && { inboxPrefix }),
    ...(tlsDir !== undefined && { tls: tlsOf(url, tlsDir) }),
  };
}

/** Makes an authenticator and tries it once, to report an invalid file at the start. No error quotes the file. */
function usable(path: string, what: string, make: (read: () => Uint8Array) => Authenticator): Authenticator {
  const authenticator = make(() => new TextEncoder().encode(readNamedFileSync(path)));
  readNamedFileSync(path);
  try {
    authenticator("nonce");
  } catch {
    throw new DomainError("invalid", `${path} holds no ${what}`);
  }
  return authenticator;
}

/** Trims the seed's file, which may end in a newline. */
function nkeyOf(read: () => Uint8Array): Authenticator {
  return nkeyAuthenticator(() => new TextEncoder().encode(new TextDecoder().decode(read()).trim()));
}

/** Checks the files first: the library would report them as a failure of the server. */
function tlsOf(url: string, dir: string) {
  const caFile = join(dir, "ca.crt");
  const certFile = join(dir, "tls.crt");
  const keyFile = join(dir, "tls.key");
  const hasOwn = existsSync(certFile) || existsSync(keyFile);
  const ca = readNamedFileSync(caFile);
  readPem(ca, "certificate", caFile, certificatesOf);
  if (hasOwn) {
    const names = { cert: certFile, key: keyFile, ca: caFile, crl: join(dir, "crl.pem") };
    checkOwnTls({ cert: readNamedFileSync(certFile), key: readNamedFileSync(keyFile), ca, names });
  }
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, "") : "";
  // Without `host` the library verifies an IP address against a certificate of "localhost".
  const own = { certFile, keyFile };
  return { caFile, ...(hasOwn && own), minVersion: "TLSv1.3", ...(isIP(host) > 0 && { host }) };
}
