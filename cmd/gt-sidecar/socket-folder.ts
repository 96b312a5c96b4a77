import { lstatSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DomainError } from "../../internal/base/errors.ts";
import { MAX_SOCKET_PATH_BYTES } from "../../internal/files/temporary-folder.ts";

/** The path of a unix socket, absolute. @throws DomainError `invalid`, naming the flag: empty or too long */
export function readSocketPath(given: string, flag: string): string {
  if (given === "" || given.endsWith("/") || given.includes("\0"))
    throw new DomainError("invalid", `${flag} unix:PATH takes the path of a socket, not ${JSON.stringify(given)}`);
  const path = resolve(given);
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES) return path;
  throw new DomainError("invalid", `${flag}: the path of a socket has at most ${MAX_SOCKET_PATH_BYTES} bytes: ${path}`);
}

/**
 * The folder controls who reaches a socket: it must exist, be ours, and be closed to others.
 * @throws DomainError `invalid`, saying what is wrong with the folder
 */
export function checkSocketFolder(path: string, uid = process.getuid?.() ?? 0): void {
  const folder = dirname(path);
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) throw refused(folder, "it does not exist", `mkdir -m 700 ${folder}`);
  if (!found.isDirectory()) throw refused(folder, "it is a link or a file", "name the folder itself");
  if (found.uid !== uid) throw refused(folder, `it belongs to user ${found.uid}`, "use a folder of your own");
  const mode = found.mode & 0o777;
  if (mode !== 0o700) throw refused(folder, `its mode is ${mode.toString(8)}, not 700`, `chmod 700 ${folder}`);
}

function refused(folder: string, why: string, hint: string): DomainError {
  return new DomainError("invalid", `cannot serve a socket in ${folder}: ${why}`, { fields: { hint } });
}
