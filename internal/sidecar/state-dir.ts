import { chmodSync, lstatSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DomainError } from "../base/errors.ts";

/** Where things lie in the state folder. The two halves meet nowhere else. */
export interface StatePaths {
  readonly dir: string;
  readonly tmuxSocket: string;
  readonly tmuxConfig: string;
  /** Socket of the supervising half. */
  readonly control: string;
  readonly journal: string;
  readonly hookFifo: string;
  readonly hookDir: string;
  /** What comes from tmux: captures on their way, FIFOs of the output. */
  readonly captures: string;
}

/** Unix socket paths end after 107 bytes; `control.sock` is the longest name here. */
const LONGEST_DIR = 107 - "/control.sock".length;

export function statePaths(dir: string): StatePaths {
  return {
    dir,
    tmuxSocket: join(dir, "tmux.sock"),
    tmuxConfig: join(dir, "tmux.conf"),
    control: join(dir, "control.sock"),
    journal: join(dir, "journal.jsonl"),
    hookFifo: join(dir, "hooks.fifo"),
    hookDir: join(dir, "hooks"),
    captures: join(dir, "captures"),
  };
}

/**
 * Makes the folder itself with mode 0700; what is in it stays.
 * @throws DomainError `invalid` when the path is too long for a socket; `denied` when the folder is a link or not ours.
 */
export function makeStateDir(paths: StatePaths, uid: number): void {
  if (Buffer.byteLength(paths.dir) > LONGEST_DIR) {
    throw new DomainError("invalid", `the state folder's path is too long for a socket: over ${LONGEST_DIR} bytes`, {
      fields: { hint: "give a shorter --state-dir" },
    });
  }
  // Looked at first: where a file or a broken link stands, making it would fail with the system's words.
  const there = lstatSync(paths.dir, { throwIfNoEntry: false });
  if (there === undefined) mkdirSync(paths.dir, { recursive: true, mode: 0o700 });
  const found = there ?? lstatSync(paths.dir);
  if (!found.isDirectory() || found.uid !== uid) {
    throw new DomainError("denied", `cannot use the state folder ${paths.dir}: it is not a folder of ours`);
  }
  chmodSync(paths.dir, 0o700);
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
    rmSync(path, { force: true });
    writeFileSync(path, content, { mode: 0o600, flag: "wx" });
  }
}
