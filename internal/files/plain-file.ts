import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { open } from "node:fs/promises";
import { DomainError } from "../base/errors.ts";

/** Opening must not wait for a FIFO or follow a link. */
const SAFELY = constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** The system's codes for a path without a readable file. */
const NOTHING_THERE = new Set(["ENOENT", "ENOTDIR", "EISDIR", "ELOOP", "ENXIO", "ENODEV", "EACCES", "EPERM"]);

/**
 * Reads a text file in a folder to which others write as well, without ever waiting for them. Undefined: the file does
 * not exist, is not a plain file (but a FIFO, a device, a link or a folder), may not be read, or has more than
 * `maxBytes`.
 */
export async function readPlainFile(path: string, maxBytes: number): Promise<string | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | SAFELY);
    const found = await file.stat();
    if (!found.isFile() || found.size > maxBytes) return undefined;
    const data = Buffer.allocUnsafe(found.size);
    const { bytesRead } = await file.read(data, 0, data.length, 0);
    return data.toString("utf8", 0, bytesRead);
  } catch (err) {
    if (isNothingThere(err)) return undefined;
    throw err;
  }
}

/** The synchronous form of `readPlainFile`. */
export function readPlainFileSync(path: string, maxBytes: number): string | undefined {
  try {
    const fd = openPlainFile(path, constants.O_RDONLY);
    try {
      return fstatSync(fd).size > maxBytes ? undefined : readAll(fd).toString("utf8");
    } finally {
      closeSync(fd);
    }
  } catch (err) {
    if (isNothingThere(err) || (err instanceof DomainError && err.kind === "precondition")) return undefined;
    throw err;
  }
}

/**
 * Opens a file with `flags` of open(2), with mode 0600 if it is created; never waits.
 * @throws DomainError `precondition` for anything but a plain file; else as `openSync`
 */
export function openPlainFile(path: string, flags: number): number {
  let fd: number;
  try {
    fd = openSync(path, flags | SAFELY, 0o600);
  } catch (err) {
    const { code = "" } = err as NodeJS.ErrnoException;
    if (code === "ENOENT" || !NOTHING_THERE.has(code)) throw err;
    throw new DomainError("precondition", `${path} is not a file of ours: ${code}`, { cause: err });
  }
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw new DomainError("precondition", `${path} is not a file`);
}

/**
 * The content of an open file, from its beginning.
 * @internal
 */
export function readAll(fd: number): Buffer {
  const data = Buffer.allocUnsafe(fstatSync(fd).size);
  let filled = 0;
  for (let read = -1; read !== 0 && filled < data.length; filled += read) {
    read = readSync(fd, data, filled, data.length - filled, filled);
  }
  return data.subarray(0, filled);
}

function isNothingThere(err: unknown): boolean {
  return NOTHING_THERE.has((err as NodeJS.ErrnoException).code ?? "");
}
