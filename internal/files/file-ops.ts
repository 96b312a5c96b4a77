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

/** Each call to the system that a set of files is written with, so that a test can end it at any of them. */
export interface FileOps {
  createFile(path: string, mode: number): number;
  write(fd: number, bytes: Uint8Array): number;
  setOwner(fd: number, uid: number, gid: number): void;
  setMode(fd: number, mode: number): void;
  sync(fd: number): void;
  close(fd: number): void;
  /** Fails with EEXIST where something stands. */
  link(from: string, to: string): void;
  rename(from: string, to: string): void;
  remove(path: string): void;
  list(folder: string): string[];
  /** Undefined: nothing there. */
  inodeOf(path: string): bigint | undefined;
  openFolder(path: string): number;
}

export const systemFileOps: FileOps = {
  createFile: (path, mode) => openSync(path, "wx", mode),
  write: (fd, bytes) => writeSync(fd, bytes),
  setOwner: (fd, uid, gid) => fchownSync(fd, uid, gid),
  setMode: (fd, mode) => fchmodSync(fd, mode), // whatever the umask took away
  sync: (fd) => fsyncSync(fd),
  close: (fd) => closeSync(fd),
  link: (from, to) => linkSync(from, to),
  rename: (from, to) => renameSync(from, to),
  remove: (path) => rmSync(path, { force: true }),
  list: (folder) => readdirSync(folder),
  inodeOf: (path) => lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino,
  openFolder: (path) => openSync(path, "r"),
};
