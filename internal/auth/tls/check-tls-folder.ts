import type { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { DomainError } from "../../base/errors.ts";
import { isMissing, readNamedFileSync } from "../../files/named-file.ts";
import { checkTls } from "../../pki/tls-files.ts";
import type { TrustOptions } from "../../pki/trust.ts";

/**
 * Checks that a server can use a folder now, and returns its certificate.
 * @param now wall clock, ms
 * @throws DomainError `invalid`, naming the folder, the file and the fault
 */
export function checkTlsFolder(dir: string, trust: TrustOptions, now: number): X509Certificate {
  const read = (name: string) => readNamedFileSync(join(dir, name));
  const files = { cert: read("tls.crt"), key: read("tls.key"), ca: read("ca.crt") };
  const crl = readIfThere(join(dir, "crl.pem"));
  try {
    return checkTls(crl === undefined ? files : { ...files, crl }, "server", now, trust).leaf;
  } catch (err) {
    if (!(err instanceof DomainError)) throw err;
    const { hint } = err.fields;
    throw new DomainError("invalid", `cannot serve with ${dir}: ${err.message}`, {
      cause: err,
      fields: hint === undefined ? undefined : { hint },
    });
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readNamedFileSync(path);
  } catch (err) {
    if (isMissing(err)) return undefined;
    throw err;
  }
}
