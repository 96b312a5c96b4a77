import { lstat, realpath, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { DomainError } from "../../base/errors.ts";

/**
 * The facts that decide whether a file is trusted.
 * @internal
 */
export interface FileFacts {
  readonly uid: number;
  /** As in `stat`, with the sticky bit. */
  readonly mode: number;
  readonly isDirectory: boolean;
  readonly isSocket: boolean;
}

const STICKY = 0o1000;
const ENTER_BY_OTHERS = 0o011;
/** tmux's own folders: `tmux-UID`. tmux refuses one that others may use in any way. */
const TMUX_FOLDER = /^tmux-\d+$/;

/**
 * Checks that the tmux server behind a socket is this user's own, because a client obeys its server: another user's
 * could have it read files or run programs. The folder must belong to this user (or be a system folder in which no one
 * may replace the files of others), and so must the socket. tmux makes the sockets of its own folder for its group too
 * (0660, 0770 while a client is attached) and relies on the folder: the socket's own mode counts only where others may
 * enter the folder. False when there is no socket.
 * @throws DomainError `denied`, naming what is not trusted and why
 */
export async function checkTmuxSocket(path: string, uid: number): Promise<boolean> {
  const folder = await facts(dirname(path), TMUX_FOLDER.test(basename(dirname(path))) ? "itself" : "target");
  if (folder === undefined) return false;
  const socket = await facts(path, "itself");
  if (socket === undefined) return false;
  const reason = distrust({ path, uid, folder, socket });
  if (reason === undefined) return true;
  throw new DomainError("denied", `cannot trust the tmux server at ${path}: ${reason}`, {
    fields: {
      hint: "a tmux client obeys its server, so gt uses only a server that no other user can reach or replace",
    },
  });
}

/** The reason why a tmux socket is not trusted; undefined if it is trusted. @internal */
export function distrust(seen: {
  readonly path: string;
  readonly uid: number;
  readonly folder: FileFacts;
  readonly socket: FileFacts;
}): string | undefined {
  const { path, uid, folder, socket } = seen;
  const isTmuxFolder = TMUX_FOLDER.test(basename(dirname(path)));
  const name = dirname(path);
  if (!folder.isDirectory) return `${name} is not a folder`;
  if (folder.uid !== uid && (isTmuxFolder || folder.uid !== 0)) return `${name} belongs to user ${folder.uid}`;
  const open = isTmuxFolder ? folder.mode & 0o007 : folder.mode & STICKY ? 0 : folder.mode & 0o022;
  if (open !== 0) return `others may use ${name} (mode ${(folder.mode & 0o777).toString(8)})`;
  if (!socket.isSocket) return "it is not a socket";
  if (socket.uid !== uid) return `it belongs to user ${socket.uid}`;
  const isReachable = folder.uid !== uid || (folder.mode & ENTER_BY_OTHERS) !== 0;
  if (!isReachable || (socket.mode & 0o022) === 0) return undefined;
  return `others may use it (mode ${(socket.mode & 0o777).toString(8)})`;
}

async function facts(path: string, of: "itself" | "target"): Promise<FileFacts | undefined> {
  try {
    const found = of === "itself" ? await lstat(path) : await stat(await realpath(path));
    return { uid: found.uid, mode: found.mode, isDirectory: found.isDirectory(), isSocket: found.isSocket() };
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "EACCES") throw new DomainError("denied", `cannot inspect ${path}: permission denied`, { cause: err });
    throw err;
  }
}
