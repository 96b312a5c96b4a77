import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";

/** The system calls that write a set of files, so that a test can end the process at any of them. */
export interface FileOps {
  createFile(path: string, mode: number): number;
  write(fd: number, bytes: Uint8Array): number;
  setOwner(fd: number, uid: number, gid: number): void;
  setMode(fd: number, mode: number): void;
  sync(fd: number): void;
  close(fd: number): void;
  /** Fails with EEXIST if `to` exists. */
  link(from: string, to: string): void;
  rename(from: string, to: string): void;
  remove(path: string): void;
  list(folder: string): string[];
  /** Undefined: there is no such file. */
  inodeOf(path: string): bigint | undefined;
  openFolder(path: string): number;
}

export const systemFileOps: FileOps = {
  createFile: (path, mode) => openSync(path, "wx", mode),
  write: (fd, bytes) => writeSync(fd, bytes),
  setOwner: (fd, uid, gid) => fchownSync(fd, uid, gid),
  setMode: (fd, mode) => fchmodSync(fd, mode), // restores what the umask has removed
  sync: (fd) => fsyncSync(fd),
  close: (fd) => closeSync(fd),
  link: (from, to) => linkSync(from, to),
  rename: (from, to) => renameSync(from, to),
  remove: (path) => rmSync(path, { force: true }),
  list: (folder) => readdirSync(folder),
  inodeOf: (path) => lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino,
  openFolder: (path) => openSync(path, "r"),
};
