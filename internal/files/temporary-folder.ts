import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DomainError } from "../base/errors.ts";
import { systemReason } from "./system-reason.ts";

/** The kernel's limit for a socket's path, without the final zero byte. */
const MAX_SOCKET_PATH = 107;

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
 * `longest`: the longest path of a socket below it.
 */
export function parentOfSockets(longest: string, usual = tmpdir()): string {
  return Buffer.byteLength(join(usual, longest)) <= MAX_SOCKET_PATH ? usual : "/tmp";
}
