import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { DomainError, errorText } from "../base/errors.ts";

/** A revocation list of 100,000 entries has 5 MiB. */
const MAX_BYTES = 16 * 1024 * 1024;
/** A FIFO without a writer is opened at once and then refused; a blocking open would hold a thread indefinitely. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * The text of a file that a configuration names. Links are followed: a mounted Secret is made of them.
 * @throws DomainError `invalid`, without the path, when it is a FIFO, a device, a folder or too long; errors of the
 * file system as they are
 */
export async function readRegularFile(path: string): Promise<string> {
  await using file = await open(path, FLAGS);
  check(await file.stat());
  return await file.readFile("utf8");
}

/** As `readRegularFile`. */
export function readRegularFileSync(path: string): string {
  const fd = openSync(path, FLAGS);
  try {
    check(fstatSync(fd));
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "a part of the path is not a folder",
  EISDIR: "it is a folder",
  EACCES: "permission denied",
  EPERM: "permission denied",
};

/** `cannot read PATH: there is no such file`, for what `readRegularFile` has thrown. */
export function unreadableText(path: string, cause: unknown): string {
  const { code = "" } = cause as NodeJS.ErrnoException;
  return `cannot read ${path}: ${REASONS[code] ?? errorText(cause)}`;
}

function check(stats: Stats): void {
  if (stats.isDirectory()) throw new DomainError("invalid", "it is a folder");
  if (!stats.isFile()) throw new DomainError("invalid", "it is not a regular file");
  if (stats.size > MAX_BYTES) throw new DomainError("invalid", `it has more than ${MAX_BYTES} bytes`);
}
