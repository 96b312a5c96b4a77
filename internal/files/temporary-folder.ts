import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DomainError } from "../base/errors.ts";
import { systemReason } from "./system-reason.ts";

/** The kernel's limit for the path of a unix socket, without the final zero byte. */
export const MAX_SOCKET_PATH_BYTES = 107;

/**
 * Makes a folder (mode 0700) among the temporary files, or in `parent`; its name begins with `prefix`.
 * @throws DomainError `unavailable` where that folder is missing, full or closed to this user
 */
export async function makeTemporaryFolder(prefix: string, parent = tmpdir()): Promise<string> {
  try {
    return await mkdtemp(join(parent, prefix));
  } catch (cause) {
    const reason = systemReason(cause, "folder");
    throw new DomainError("unavailable", `cannot make a folder in ${parent}: ${reason}`, {
      fields: { hint: "set TMPDIR to a folder of your own with room in it" },
      cause,
    });
  }
}

/**
 * The parent for a temporary folder with sockets: the usual one, or /tmp if TMPDIR is too long for a socket's path.
 * `longest`: the longest path of a socket below it; XXXXXX stands for the random end of a folder's name.
 */
export function parentOfSockets(longest: string, usual = tmpdir()): string {
  return Buffer.byteLength(join(usual, longest)) <= MAX_SOCKET_PATH_BYTES ? usual : "/tmp";
}
