import { createHash } from "node:crypto";
import { dirname, isAbsolute, join } from "node:path";
import { openPrivateFolder } from "../../internal/files/private-folder.ts";
import { MAX_SOCKET_PATH_BYTES } from "../../internal/files/temporary-folder.ts";
import { LONGEST_SOCKET } from "../../internal/providers/terminal/terminal-folder.ts";

const MAX_PATH_BYTES = MAX_SOCKET_PATH_BYTES - `/${LONGEST_SOCKET}`.length;

/**
 * Makes the parent folder of terminal sessions' folders.
 * @throws DomainError `denied` when others may use it
 */
export async function openTerminalsFolder(
  stateFolder: string,
  runtimeDir: string | undefined,
  uid: number,
): Promise<string> {
  const folder = terminalsFolderOf(stateFolder, runtimeDir, uid);
  // In /tmp another user may have made the parent folder.
  if (dirname(folder) !== stateFolder) await openPrivateFolder(dirname(folder), uid);
  await openPrivateFolder(folder, uid);
  return folder;
}

/**
 * The parent of terminal sessions' folders, which hold their sockets: inside the state folder, or a short folder of its
 * own if the state folder's path is too long for a socket.
 */
function terminalsFolderOf(stateFolder: string, runtimeDir: string | undefined, uid: number): string {
  const inside = join(stateFolder, "t");
  if (Buffer.byteLength(inside) <= MAX_PATH_BYTES) return inside;
  const name = createHash("sha256").update(stateFolder).digest("hex").slice(0, 12);
  const inRuntime =
    runtimeDir !== undefined && isAbsolute(runtimeDir) ? join(runtimeDir, "gt-bridge", name) : undefined;
  if (inRuntime !== undefined && Buffer.byteLength(inRuntime) <= MAX_PATH_BYTES) return inRuntime;
  return `/tmp/gt-bridge-${uid}/${name}`;
}
