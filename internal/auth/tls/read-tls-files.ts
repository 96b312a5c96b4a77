import { readlink } from "node:fs/promises";
import { join } from "node:path";
import { isMissing, unreadableText } from "../../files/named-file.ts";
import { readRegularFile } from "../../files/regular-file.ts";
import { fault, faultIn, type TlsFileKind, type TlsFiles } from "../../pki/tls-files.ts";

/** What a mounted Secret swaps: a link to the folder that holds one version of all files. */
const VERSION_LINK = "..data";

/** A Secret is swapped once in minutes: what a swap has torn is whole when it is read again. */
const TRIES = 3;

const NAMES = { cert: "tls.crt", key: "tls.key", ca: "ca.crt" } as const;
const CRL = "crl.pem";

/**
 * Reads `tls.crt`, `tls.key`, `ca.crt` and, if it is there, `crl.pem`. Of a mounted Secret all of one version, however
 * often it is swapped meanwhile; of a plain folder what lies there, which may be half of a change: `checkTls` tells.
 * @throws DomainError `invalid` that names the file when one cannot be read, or says that it changes all the time.
 */
export async function readTlsFiles(dir: string): Promise<TlsFiles> {
  for (let tries = 0; tries < TRIES; tries++) {
    const version = await versionOf(dir);
    const reading = readFolder(version === undefined ? dir : join(dir, version), dir);
    await reading.catch(() => {}); // the version may be gone because there is a newer one
    if ((await versionOf(dir)) === version) return reading;
  }
  throw fault("unreadable", `${dir} changes all the time while it is read`);
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

/** `dir` is what the person named, and so what the error names. */
async function read(folder: string, name: string, dir: string, mayLack = false): Promise<string | undefined> {
  try {
    return await readRegularFile(join(folder, name));
  } catch (cause) {
    if (mayLack && isMissing(cause)) return undefined;
    throw fault("unreadable", unreadableText(join(dir, name), cause), cause);
  }
}

async function versionOf(dir: string): Promise<string | undefined> {
  return readlink(join(dir, VERSION_LINK)).catch(() => undefined);
}

/** TLS files that lie each in a place of their own; the lists may be several files. */
export interface TlsPaths {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  readonly crl: readonly string[];
}

/**
 * Reads files that may be replaced one by one: the result may be half of a change, which `checkTls` detects. Every list
 * that is named must be there.
 * @throws DomainError `invalid` that names the file which cannot be read
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
