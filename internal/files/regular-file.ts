import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { DomainError } from "../base/errors.ts";

/** A revocation list of 100,000 entries takes 5 MiB. */
export const MAX_BYTES = 16 * 1024 * 1024;
/** A FIFO without a writer is opened at once and then refused; a blocking open would hold a thread indefinitely. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * The text of a file that a configuration names. Links are followed: a mounted Secret is made of them.
 * @throws DomainError `invalid`, without the path, when it is a FIFO, a device, a folder or too long; errors of the
 * file system unchanged
 */
export async function readRegularFile(path: string, maxBytes = MAX_BYTES): Promise<string> {
  await using file = await open(path, FLAGS);
  check(await file.stat(), maxBytes);
  return await file.readFile("utf8");
}

/** The synchronous form of `readRegularFile`. */
export function readRegularFileSync(path: string): string {
  const fd = openSync(path, FLAGS);
  try {
    check(fstatSync(fd), MAX_BYTES);
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

function check(stats: Stats, maxBytes: number): void {
  if (stats.isDirectory()) throw new DomainError("invalid", "it is a folder");
  if (!stats.isFile()) throw new DomainError("invalid", "it is not a regular file");
  if (stats.size > maxBytes) throw tooLong(maxBytes);
}

/** The refusal of a text of more than `maxBytes`. */
export function tooLong(maxBytes: number): DomainError {
  return new DomainError("invalid", `it has more than ${maxBytes} bytes`);
}
