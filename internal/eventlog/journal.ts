import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { DomainError } from "../base/errors.ts";
import { openPlainFile, readAll } from "../files/plain-file.ts";

const LF = 0x0a;
/** A larger one is not read: whoever writes it keeps it shorter. */
export const JOURNAL_MAX_BYTES = 128 * 1024 * 1024;

/**
 * An append-only file of JSON records, one a line, mode 0600. A record is in the kernel when `append` returns, so it
 * outlives a `kill -9` of this process; it is not synced to the disk, so it may be lost with the machine. One writer.
 */
export class Journal<T> {
  readonly #path: string;
  #fd: number;
  #bytes: number;

  private constructor(path: string, fd: number, bytes: number) {
    this.#path = path;
    this.#fd = fd;
    this.#bytes = bytes;
  }

  /**
   * Opens or makes the file and returns what it holds, oldest first. A torn last line (a writer killed in the middle) is
   * cut off; lines that `parse` does not understand are left out and counted. What stands there and is no file, or is larger
   * than `JOURNAL_MAX_BYTES`, is removed for a new one (`replaced`).
   */
  static open<T>(path: string, parse: (value: unknown) => T | undefined) {
    const { fd, replaced } = openOrReplace(path);
    const { records, unreadable, wholeBytes } = readJournal(readAll(fd), parse);
    ftruncateSync(fd, wholeBytes);
    return { journal: new Journal<T>(path, fd, wholeBytes), records, unreadable, replaced };
  }

  /** Size of the file. */
  get bytes(): number {
    return this.#bytes;
  }

  append(record: T): void {
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    try {
      for (let done = 0; done < line.length; ) done += writeSync(this.#fd, line, done);
    } catch (err) {
      ftruncateSync(this.#fd, this.#bytes); // a full volume must not leave half a record before the next one
      throw err;
    }
    this.#bytes += line.length;
  }

  /** False when another file, or none, has the name: nobody who opens it would find these records. */
  get isInPlace(): boolean {
    try {
      const found = lstatSync(this.#path, { bigint: true });
      const { ino, dev } = fstatSync(this.#fd, { bigint: true });
      return found.ino === ino && found.dev === dev;
    } catch {
      return false; // the folder may be no folder any more
    }
  }

  /** Replaces the content in one step: a reader, or the next start, sees either all old or all new records. */
  rewrite(records: readonly T[]): void {
    const next = `${this.#path}.next`;
    rmSync(next, { recursive: true, force: true });
    const fresh = new Journal<T>(next, openSync(next, "ax", 0o600), 0);
    for (const record of records) fresh.append(record);
    if (lstatSync(this.#path, { throwIfNoEntry: false })?.isDirectory()) rmSync(this.#path, { recursive: true });
    renameSync(next, this.#path);
    closeSync(this.#fd);
    this.#fd = fresh.#fd;
    this.#bytes = fresh.#bytes;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function openOrReplace(path: string): { readonly fd: number; readonly replaced: boolean } {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
  try {
    const fd = openPlainFile(path, flags);
    if (fstatSync(fd).size <= JOURNAL_MAX_BYTES) return { fd, replaced: false };
    closeSync(fd);
  } catch (err) {
    if (!(err instanceof DomainError)) throw err;
  }
  rmSync(path, { recursive: true, force: true });
  return { fd: openPlainFile(path, flags | constants.O_EXCL), replaced: true };
}

/** Line by line: the whole as one text would take as much again. */
function readJournal<T>(data: Buffer, parse: (value: unknown) => T | undefined) {
  const records: T[] = [];
  let unreadable = 0;
  let begin = 0;
  for (let end = data.indexOf(LF); end >= 0; end = data.indexOf(LF, begin)) {
    const line = data.toString("utf8", begin, end);
    begin = end + 1;
    if (line === "") continue;
    const record = parseLine(line, parse);
    if (record === undefined) unreadable++;
    else records.push(record);
  }
  return { records, unreadable, wholeBytes: begin };
}

function parseLine<T>(line: string, parse: (value: unknown) => T | undefined): T | undefined {
  try {
    return parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
