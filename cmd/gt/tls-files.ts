import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { serverRevocation } from "../../internal/auth/server-revocation.ts";
import { DomainError, errorText } from "../../internal/base/errors.ts";
import type { ClientTls } from "../../internal/rpcserver/tls.ts";
import type { PlaceConfig } from "./config.ts";

/**
 * Reads certificate, key and CA: from the folder (`tls.crt`, `tls.key`, `ca.crt`, optional `crl.pem`), or from the files
 * given one by one, which win. Undefined when nothing was given.
 * @throws DomainError `invalid` when one of the three is missing or cannot be read, or the revocation list is none.
 */
export async function readTls(tls: PlaceConfig["tls"]): Promise<ClientTls | undefined> {
  if ((tls.dir ?? tls.ca ?? tls.cert ?? tls.key) === undefined) return undefined;
  const path = (given: string | undefined, name: string) =>
    given ?? (tls.dir === undefined ? undefined : join(tls.dir, name));
  const [cert, key, ca] = await Promise.all([
    read("--cert", path(tls.cert, "tls.crt")),
    read("--key", path(tls.key, "tls.key")),
    read("--ca", path(tls.ca, "ca.crt")),
  ]);
  const crl = tls.dir === undefined ? undefined : await readIfThere(join(tls.dir, "crl.pem"));
  return crl === undefined ? { cert, key, ca } : { cert, key, ca, refuse: serverRevocation(ca, crl, Date.now) };
}

async function read(flag: string, path: string | undefined): Promise<string> {
  if (path === undefined) {
    throw new DomainError("invalid", `${flag} is missing`, {
      fields: { hint: "give --ca, --cert and --key, or --tls-dir" },
    });
  }
  try {
    return await readFile(path, "utf8");
  } catch (err) {
    throw new DomainError("invalid", `cannot read ${path}: ${errorText(err)}`, { cause: err });
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new DomainError("invalid", `cannot read ${path}: ${errorText(err)}`, { cause: err });
  }
}
