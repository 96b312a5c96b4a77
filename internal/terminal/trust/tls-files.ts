import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { readTlsFiles } from "../../auth/tls/read-tls-files.ts";
import { ownTrustDomain, sessionClaim } from "../../auth/tls/session-name.ts";
import { DomainError } from "../../base/errors.ts";
import { isMissing, readNamedInput } from "../../files/named-file.ts";
import { checkOwnTls, type TlsFiles } from "../../pki/tls-files.ts";
import { serverRevocation } from "../../pki/trust.ts";
import type { ClientTls } from "../../rpc/common/tls.ts";

/** Files given one by one, and the folder that contains the others. */
export interface TlsFileOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly dir?: string | undefined;
}

/**
 * Reads certificate, key and CA as they are now: from the folder (`tls.crt`, `tls.key`, `ca.crt`, optional `crl.pem`),
 * or from the files given one by one, which take precedence. Undefined when nothing was given.
 * @throws DomainError `invalid` when one of the three is missing, or any file cannot be read or used; the error names
 * the file
 */
export async function readTls({ dir, ca, cert, key }: TlsFileOptions): Promise<TlsFiles | undefined> {
  const given = { "--cert": cert, "--key": key, "--ca": ca };
  if (Object.values(given).every((path) => path === undefined)) {
    return dir === undefined ? undefined : checked(await readTlsFiles(dir), (name) => join(dir, name));
  }
  const path = (file: string | undefined, name: string) => file ?? (dir === undefined ? undefined : join(dir, name));
  const [certText, keyText, caText] = await Promise.all([
    read("--cert", path(cert, "tls.crt")),
    read("--key", path(key, "tls.key")),
    read("--ca", path(ca, "ca.crt")),
  ]);
  const crl = dir === undefined ? undefined : await readIfThere(join(dir, "crl.pem"));
  const files = { cert: certText, key: keyText, ca: caText, crl };
  const named: Readonly<Record<string, string | undefined>> = { "tls.crt": cert, "tls.key": key, "ca.crt": ca };
  return checked(files, (name) => path(named[name], name) ?? name);
}

/** Reports a mistake in the caller's own files before any connection: a server could only refuse them. */
function checked(files: TlsFiles, pathOf: (name: string) => string): TlsFiles {
  const names = { cert: pathOf("tls.crt"), key: pathOf("tls.key"), ca: pathOf("ca.crt"), crl: pathOf("crl.pem") };
  checkOwnTls({ ...files, names });
  return files;
}

/** The session that a certificate must name. */
export interface Expected {
  /** The id of the session that must answer. If the server's certificate names a session, it must be this one. */
  readonly session?: string | undefined;
  /**
   * The namespace of the session's pod. If given, the certificate must name both, and the dialled address does not
   * matter.
   */
  readonly namespace?: string | undefined;
  /**
   * The name by which the caller calls the session: if the certificate contains it, the dialled address does not
   * matter.
   */
  readonly named?: string | undefined;
}

/** The TLS settings of a connection. @throws DomainError `invalid` when the revocation list cannot be used */
export function clientTls({ crl, ...files }: TlsFiles, expected: Expected = {}): ClientTls {
  const refuse = crl === undefined ? undefined : serverRevocation(files.ca, crl, Date.now);
  const { session, namespace, named } = expected;
  if (session !== undefined) return { ...files, refuse, identify: sessionCheck(files.cert, session, namespace) };
  return { ...files, refuse, identify: named ? nameCheck(files.cert, named) : undefined };
}

/** The caller says where the sidecar is; the certificate may say which session it serves. */
function nameCheck(ownCert: string, named: string): NonNullable<ClientTls["identify"]> {
  const own = ownTrustDomain(new X509Certificate(ownCert));
  return (server) => (sessionClaim(server, named, own).type === "by-name" ? "instead" : "also");
}

function sessionCheck(
  ownCert: string,
  session: string,
  namespace: string | undefined,
): NonNullable<ClientTls["identify"]> {
  const own = ownTrustDomain(new X509Certificate(ownCert));
  const asked = `session ${JSON.stringify(session)}${namespace === undefined ? "" : ` of namespace ${namespace}`}`;
  return (server) => {
    const claim = sessionClaim(server, session, own, namespace);
    switch (claim.type) {
      case "by-name":
        return "instead";
      case "by-uri":
        return namespace === undefined ? "also" : "instead";
      case "silent":
        return namespace === undefined
          ? "also"
          : mismatch(`the certificate names no session, but ${asked} was requested`);
      case "another":
        return mismatch(`the certificate belongs to ${claim.named}, but ${asked} was requested`);
    }
  };
}

function mismatch(text: string): Error {
  return Object.assign(new Error(text), { code: "HOSTNAME_MISMATCH" });
}

async function read(flag: string, path: string | undefined): Promise<string> {
  if (path === undefined) {
    throw new DomainError("invalid", `${flag} is missing`, {
      fields: { hint: "give --ca, --cert and --key, or --tls-dir" },
    });
  }
  return await readNamedInput(path);
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readNamedInput(path);
  } catch (err) {
    if (isMissing(err)) return undefined;
    throw err;
  }
}
