import { chmodSync, lstatSync, mkdirSync, rmSync, type Stats, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DomainError, errorText } from "../../base/errors.ts";

/** Where things lie in the state folder. The two halves meet nowhere else. */
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
  /** What comes from tmux: captures on their way, FIFOs of the output. */
  readonly captures: string;
}

export type Kind = "folder" | "file" | "FIFO" | "socket";

/** What stands in the folder while a sidecar runs; the journal and the lock come and stay by themselves. */
export function partsOf(paths: StatePaths): ReadonlyMap<string, Kind> {
  return new Map<string, Kind>([
    [paths.hookDir, "folder"],
    [paths.captures, "folder"],
    [paths.tmuxConfig, "file"],
    [paths.hookFifo, "FIFO"],
    [paths.control, "socket"],
    [paths.clients, "socket"],
    [paths.tmuxSocket, "socket"],
  ]);
}

const IS_OF: Readonly<Record<Kind, (found: Stats) => boolean>> = {
  folder: (found) => found.isDirectory(),
  file: (found) => found.isFile(),
  FIFO: (found) => found.isFIFO(),
  socket: (found) => found.isSocket(),
};

/** Links are of no kind, nor is what cannot be looked at. */
export function isOfKind(path: string, kind: Kind): boolean {
  try {
    return IS_OF[kind](lstatSync(path));
  } catch {
    return false;
  }
}

/**
 * The agent is the same user: where it put something of another kind, waiting for a FIFO or following a link would be
 * the end. What is not there is left alone, for it may be made this very moment; of a link what it leads to stays.
 */
export function removeStrange(path: string, kind: Kind): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !IS_OF[kind](found)) rmSync(path, { recursive: true, force: true });
}

/** Unix socket paths end after 107 bytes; `control.sock` is the longest name here. */
const LONGEST_DIR = 107 - "/control.sock".length;

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
 * Makes the folder itself with mode 0700; what is in it stays.
 * @throws DomainError `invalid` when the path is too long for a socket; `denied` when the folder is a link or not ours,
 * or cannot be made
 */
export function makeStateDir(paths: StatePaths, uid: number): void {
  if (Buffer.byteLength(paths.dir) > LONGEST_DIR) {
    throw new DomainError("invalid", `the state folder's path is too long for a socket: over ${LONGEST_DIR} bytes`, {
      fields: { hint: "give a shorter --state-dir" },
    });
  }
  const found = foundOrMade(paths.dir);
  if (!found.isDirectory() || found.uid !== uid) {
    throw new DomainError("denied", `cannot use the state folder ${paths.dir}: it is not a folder that this user owns`);
  }
  chmodSync(paths.dir, 0o700);
  for (const path of [paths.lock, paths.journal]) removeStrange(path, "file");
  for (const [path, kind] of partsOf(paths)) removeStrange(path, kind);
}

/** Looked at first: where a file or a broken link stands, making it would fail with the system's words. */
function foundOrMade(dir: string): Stats {
  try {
    const there = lstatSync(dir, { throwIfNoEntry: false });
    if (there === undefined) makeFolders(dir);
    return there ?? lstatSync(dir);
  } catch (err) {
    const fields = { hint: "give another --state-dir" };
    throw new DomainError("denied", `cannot make the state folder ${dir}: ${errorText(err)}`, { cause: err, fields });
  }
}

/** Node's own recursive one never ends where nothing can be made below a folder that is there, as in /proc. */
function makeFolders(dir: string): void {
  const above = dirname(dir);
  if (lstatSync(above, { throwIfNoEntry: false }) === undefined && above !== dir) makeFolders(above);
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== "EEXIST") throw err; // what is there now is looked at
  }
}

/** `makeStateDir`, and its parts: what a killed predecessor left of one-use files is removed, its journal stays. */
export function prepareStateDir(paths: StatePaths, uid: number): void {
  makeStateDir(paths, uid);
  for (const dir of [paths.hookDir, paths.captures]) {
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir, { mode: 0o700 });
  }
}

/** Writes private files (mode 0600), by absolute path below the state folder. */
export function writeStateFiles(paths: StatePaths, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    if (path !== resolve(path) || !path.startsWith(`${paths.dir}/`))
      throw new Error(`a launch file outside of the state folder: ${path}`);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    rmSync(path, { recursive: true, force: true });
    writeFileSync(path, content, { mode: 0o600, flag: "wx" });
  }
}
