import { chmodSync, lstatSync, mkdirSync, readdirSync, type Stats, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DomainError } from "../../base/errors.ts";
import { makeFolders, unusableStateDir } from "../../files/make-folders.ts";
import { type FileKind, IS_OF_KIND } from "../../files/open-below.ts";
import { removeTree } from "../../files/remove-tree.ts";
import { MAX_SOCKET_PATH_BYTES } from "../../files/temporary-folder.ts";

/** The paths in the state folder, the only place where the two halves meet. */
export interface StatePaths {
  readonly dir: string;
  readonly tmuxSocket: string;
  readonly tmuxConfig: string;
  /** Socket of the supervising half. */
  readonly control: string;
  /** Socket on which the supervising half hands out streams of tmux's control client. */
  readonly clients: string;
  readonly journal: string;
  /** A secret, see `lockState`. */
  readonly lock: string;
  readonly hookFifo: string;
  readonly hookDir: string;
  /** tmux's files: captures that have not been read yet, and FIFOs of the output. */
  readonly captures: string;
}

/**
 * The entries of the folder while a sidecar runs; the journal and the lock, which are made when needed and then stay,
 * are not among them.
 */
export function stateEntriesOf(paths: StatePaths): ReadonlyMap<string, FileKind> {
  return new Map<string, FileKind>([
    [paths.hookDir, "folder"],
    [paths.captures, "folder"],
    [paths.tmuxConfig, "file"],
    [paths.hookFifo, "FIFO"],
    [paths.control, "socket"],
    [paths.clients, "socket"],
    [paths.tmuxSocket, "socket"],
  ]);
}

/** True if the entry has that kind; false for links and for entries that cannot be examined. */
export function isOfKind(path: string, kind: FileKind): boolean {
  try {
    return IS_OF_KIND[kind](lstatSync(path));
  } catch {
    return false;
  }
}

/**
 * Gives the folder and its parts the owner's permissions back where they lack them; returns the paths where it did. The
 * agent runs as this user, so it may take them away.
 */
export function restorePermissions(paths: StatePaths): readonly string[] {
  return [paths.dir, paths.lock, paths.journal, ...stateEntriesOf(paths).keys()].filter((path) => {
    try {
      const found = lstatSync(path);
      const needed = found.isDirectory() ? 0o700 : 0o600;
      if (found.isSymbolicLink() || (found.mode & needed) === needed) return false;
      chmodSync(path, (found.mode | needed) & 0o777);
      return true;
    } catch {
      return false; // it is missing or not ours, which other checks notice
    }
  });
}

/**
 * Removes an entry of the wrong kind, since the agent runs as this user and may replace a file. A link's target is
 * kept. A missing entry may be created at this moment and is left alone.
 */
export function removeStrange(path: string, kind: FileKind): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !IS_OF_KIND[kind](found)) removeTree(path);
}

/** `control.sock` is the longest name of a socket here. */
const LONGEST_DIR = MAX_SOCKET_PATH_BYTES - "/control.sock".length;

export function statePaths(dir: string): StatePaths {
  return {
    dir,
    tmuxSocket: join(dir, "tmux.sock"),
    tmuxConfig: join(dir, "tmux.conf"),
    control: join(dir, "control.sock"),
    clients: join(dir, "clients.sock"),
    journal: join(dir, "journal.jsonl"),
    lock: join(dir, "lock"),
    hookFifo: join(dir, "hooks.fifo"),
    hookDir: join(dir, "hooks"),
    captures: join(dir, "captures"),
  };
}

/**
 * Checks at a start that no foreign file would be removed. A folder that a sidecar has used has a lock, and whatever is
 * in the place of one of its parts may be removed. In another folder, a file of that name is someone's own: `hooks` of
 * a repository, `tmux.conf` of a home. A journal is not checked: one that cannot be read is set aside.
 * @throws DomainError `denied`, naming the first foreign file
 */
export function refuseForeignFiles(paths: StatePaths): void {
  if (isOfKind(paths.lock, "file")) return;
  for (const path of [paths.lock, ...stateEntriesOf(paths).keys()]) {
    if (!holdsData(path)) continue;
    throw new DomainError("denied", `cannot use the state folder ${paths.dir}: ${path} does not belong to a sidecar`, {
      fields: { hint: "give another --state-dir: a sidecar replaces files that have the names of its own" },
    });
  }
}

function holdsData(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return readdirSync(path).length > 0;
  return found?.isFile() === true && found.size > 0;
}

/**
 * Makes the folder itself with mode 0700; its content stays.
 * @throws DomainError `invalid` when the path is too long for a socket; `denied` when the folder is a link or not ours,
 * or cannot be made
 */
export function makeStateDir(paths: StatePaths, uid: number): void {
  if (Buffer.byteLength(paths.dir) > LONGEST_DIR) {
    const limit = `over ${LONGEST_DIR} bytes`;
    throw new DomainError("invalid", `the state folder's path is too long for a socket, ${limit}: ${paths.dir}`, {
      fields: { hint: "give a shorter --state-dir" },
    });
  }
  const found = foundOrMade(paths.dir);
  if (!found.isDirectory() || found.uid !== uid) {
    throw new DomainError("denied", `cannot use the state folder ${paths.dir}: it is not a folder that this user owns`);
  }
  chmodSync(paths.dir, 0o700);
  for (const path of [paths.lock, paths.journal]) removeStrange(path, "file");
  for (const [path, kind] of stateEntriesOf(paths)) removeStrange(path, kind);
}

/** Looks first: if a file or a broken link is there, making the folder would fail with the system's message. */
function foundOrMade(dir: string): Stats {
  try {
    const there = lstatSync(dir, { throwIfNoEntry: false });
    if (there === undefined) makeFolders(dir);
    return there ?? lstatSync(dir);
  } catch (err) {
    throw unusableStateDir(`cannot make the state folder ${dir}`, err);
  }
}

/**
 * Like `makeStateDir`, and empties the folders for one-use files, which a killed predecessor may have left. The journal
 * stays.
 */
export function prepareStateDir(paths: StatePaths, uid: number): void {
  makeStateDir(paths, uid);
  for (const dir of [paths.hookDir, paths.captures]) {
    removeTree(dir);
    try {
      mkdirSync(dir, { mode: 0o700 });
    } catch (err) {
      throw unusableStateDir(`cannot make the folder ${dir}`, err);
    }
  }
}

/**
 * Writes private files (mode 0600), by absolute path below the state folder.
 * @throws DomainError `denied` if one cannot be written
 */
export function writeStateFiles(paths: StatePaths, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    if (path !== resolve(path) || !path.startsWith(`${paths.dir}/`))
      throw new Error(`a launch file outside of the state folder: ${path}`);
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      removeTree(path);
      writeFileSync(path, content, { mode: 0o600, flag: "wx" });
    } catch (err) {
      throw unusableStateDir(`cannot write ${path}`, err);
    }
  }
}
