import { readlink } from "node:fs/promises";
import { join } from "node:path";
import { isMissing, unreadableText } from "../../files/named-file.ts";
import { readRegularFile } from "../../files/regular-file.ts";
import { faultIn, type TlsFileKind, type TlsFiles, tlsFault } from "../../pki/tls-files.ts";

/** The link in a mounted Secret that the kubelet swaps; it leads to the folder with one version of all files. */
const VERSION_LINK = "..data";

/**
 * A Secret is swapped at most once in minutes: after a swap during one attempt, the next one reads a single version.
 */
const TRIES = 3;

const NAMES = { cert: "tls.crt", key: "tls.key", ca: "ca.crt" } as const;
const CRL = "crl.pem";

/**
 * Reads `tls.crt`, `tls.key`, `ca.crt` and, if it exists, `crl.pem`. From a mounted Secret, all are of the same
 * version, even if it is swapped meanwhile. From a plain folder, some may be from before a change and some from after
 * it, which `checkTls` detects.
 * @throws DomainError `invalid` that names a file that cannot be read, or says that the folder keeps changing
 */
export async function readTlsFiles(dir: string): Promise<TlsFiles> {
  for (let tries = 0; tries < TRIES; tries++) {
    const version = await versionOf(dir);
    const reading = readFolder(version === undefined ? dir : join(dir, version), dir);
    await reading.catch(() => {}); // the version may be gone because there is a newer one
    if ((await versionOf(dir)) === version) return reading;
  }
  throw tlsFault("unreadable", `${dir} changes all the time while it is read`);
}

async function readFolder(folder: string, dir: string): Promise<TlsFiles> {
  const [cert, key, ca, crl] = await Promise.all([
    read(folder, NAMES.cert, dir),
    read(folder, NAMES.key, dir),
    read(folder, NAMES.ca, dir),
    read(folder, CRL, dir, true),
  ]);
  const files = { cert: cert ?? "", key: key ?? "", ca: ca ?? "" };
  return crl === undefined ? files : { ...files, crl };
}

/** Errors name the file in `dir`, the folder that the person configured. */
async function read(folder: string, name: string, dir: string, mayLack = false): Promise<string | undefined> {
  try {
    return await readRegularFile(join(folder, name));
  } catch (cause) {
    if (mayLack && isMissing(cause)) return undefined;
    throw tlsFault("unreadable", unreadableText(join(dir, name), cause), cause);
  }
}

async function versionOf(dir: string): Promise<string | undefined> {
  return readlink(join(dir, VERSION_LINK)).catch(() => undefined);
}

/** The path of each TLS file; there may be several files of revocation lists. */
export interface TlsPaths {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  readonly crl: readonly string[];
}

/**
 * Reads files that may be replaced one by one: some may be from before a change and some from after it, which
 * `checkTls` detects. Every file of lists must exist.
 * @throws DomainError `invalid` that names the file that cannot be read
 */
export async function readTlsPaths({ cert, key, ca, crl }: TlsPaths): Promise<TlsFiles> {
  const names = { cert, key, ca, crl: crl.join(", ") };
  const [certText, keyText, caText, ...lists] = await Promise.all([
    readPath("cert", cert),
    readPath("key", key),
    readPath("ca", ca),
    ...crl.map((path) => readPath("crl", path)),
  ]);
  const crls = lists.map((text, i) => ({ name: crl[i] ?? "", text }));
  return { cert: certText, key: keyText, ca: caText, names, crls };
}

async function readPath(file: TlsFileKind, path: string): Promise<string> {
  try {
    return await readRegularFile(path);
  } catch (cause) {
    throw faultIn(file, "unreadable", unreadableText(path, cause), cause);
  }
}
