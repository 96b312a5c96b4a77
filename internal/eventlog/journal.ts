import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  writeSync,
} from "node:fs";
import { DomainError } from "../base/errors.ts";
import { openPlainFile } from "../files/plain-file.ts";
import { removeTree } from "../files/remove-tree.ts";
import { journalLine, readJournalLines } from "./journal-lines.ts";

/**
 * A larger file is not read: the writer keeps its files shorter.
 * @internal
 */
export const JOURNAL_MAX_BYTES = 128 * 1024 * 1024;
/** The suffix of the file to which damaged data, or a journal that is too large, is set aside. */
const ASIDE = ".damaged";
/** The limit of damaged data that is set aside. */
const ASIDE_MAX_BYTES = 4 * 1024 * 1024;

/** Handles each line of a journal, in order. */
export interface JournalReader<T> {
  /** Undefined: not a record that we write. */
  readonly parse: (value: unknown) => T | undefined;
  /** Takes a record. Drop superseded records at once, so that only those that still count are held. */
  readonly take: (record: T) => void;
  /** Called for a line that is damaged or is not a record. The reader does not get its content. */
  readonly damaged?: () => void;
}

/** The location of a journal, for a folder that is not found by its path alone. */
export interface JournalFile {
  /** Valid only for calls that follow at once. */
  readonly path: string;
  /** Removes whatever has the journal's path with this suffix: the file, its replacement, or the data set aside. */
  remove(suffix: "" | ".next" | ".damaged"): void;
}

/**
 * An append-only file of JSON records with checksums, one per line, mode 0600. A record is in the kernel when `append`
 * returns, so it outlives a `kill -9` of this process; it is not synced to the disk, so it may be lost with the
 * machine. One writer.
 */
export class Journal<T> {
  readonly #file: JournalFile;
  #fd: number;
  #bytes: number;

  private constructor(file: JournalFile, fd: number, bytes: number) {
    this.#file = file;
    this.#fd = fd;
    this.#bytes = bytes;
  }

  /**
   * Opens or creates the file and gives its records to `reader`, oldest first. A torn last line (its writer was killed)
   * is cut off (`isTorn`). Damaged lines are counted, and set aside in `<path>.damaged` (0600, the first 4 MiB of
   * them). If `path` is not a file, it is removed, and a file larger than `JOURNAL_MAX_BYTES` is set aside, for a new
   * one (`replaced`).
   */
  static open<T>(where: string | JournalFile, reader: JournalReader<T>) {
    const file = typeof where === "string" ? fileAt(where) : where;
    const { fd, replaced } = openOrReplace(file);
    const damaged = readRecords(fd, reader, file);
    const wholeBytes = endOfLastLine(fd);
    const isTorn = fstatSync(fd).size > wholeBytes;
    ftruncateSync(fd, wholeBytes);
    return { journal: new Journal<T>(file, fd, wholeBytes), damaged, isTorn, replaced };
  }

  /** Size of the file. */
  get bytes(): number {
    return this.#bytes;
  }

  append(record: T): void {
    const line = journalLine(record);
    try {
      for (let done = 0; done < line.length; ) done += writeSync(this.#fd, line, done);
    } catch (err) {
      ftruncateSync(this.#fd, this.#bytes); // a full volume must not leave half a record before the next one
      throw err;
    }
    this.#bytes += line.length;
  }

  /** False if the path leads to another file, or to none: opening the path would not find these records. */
  get isInPlace(): boolean {
    try {
      const found = lstatSync(this.#file.path, { bigint: true });
      const { ino, dev } = fstatSync(this.#fd, { bigint: true });
      return found.ino === ino && found.dev === dev;
    } catch {
      return false; // the folder may no longer be a folder
    }
  }

  /** Replaces the content in one step: a reader, or the next start, sees either all old or all new records. */
  rewrite(records: readonly T[]): void {
    this.#file.remove(".next");
    const path = this.#file.path;
    const next = `${path}.next`;
    const fresh = new Journal<T>(this.#file, openSync(next, "ax", 0o600), 0);
    try {
      for (const record of records) fresh.append(record);
      if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) this.#file.remove("");
      renameSync(next, path);
    } catch (err) {
      fresh.close();
      this.#file.remove(".next"); // on a full volume the new file uses space that others need
      throw err;
    }
    closeSync(this.#fd);
    this.#fd = fresh.#fd;
    this.#bytes = fresh.#bytes;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function fileAt(path: string): JournalFile {
  return { path, remove: (suffix) => removeTree(`${path}${suffix}`) };
}

function openOrReplace(file: JournalFile): { readonly fd: number; readonly replaced: boolean } {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
  try {
    const fd = openPlainFile(file.path, flags);
    if (fstatSync(fd).size <= JOURNAL_MAX_BYTES) return { fd, replaced: false };
    closeSync(fd);
    file.remove(ASIDE);
    const path = file.path;
    renameSync(path, `${path}${ASIDE}`);
  } catch (err) {
    if (!(err instanceof DomainError)) throw err;
    file.remove("");
  }
  return { fd: openPlainFile(file.path, flags | constants.O_EXCL), replaced: true };
}

function readRecords<T>(fd: number, reader: JournalReader<T>, file: JournalFile): number {
  let damaged = 0;
  let aside: SetAside | undefined;
  for (const line of readJournalLines(fd)) {
    const record = line.type === "record" ? parseJson(line.json, reader.parse) : undefined;
    if (record !== undefined) {
      reader.take(record);
      continue;
    }
    damaged++;
    aside ??= new SetAside(file);
    aside.add(line.type === "record" ? Buffer.from(line.json) : line.bytes);
    reader.damaged?.();
  }
  aside?.close();
  return damaged;
}

function parseJson<T>(json: string, parse: (value: unknown) => T | undefined): T | undefined {
  try {
    return parse(JSON.parse(json));
  } catch {
    return undefined;
  }
}

/** Where damaged lines are stored for inspection; on a full disk only they are lost. */
class SetAside {
  readonly #fd: number | undefined;
  #room = ASIDE_MAX_BYTES;

  constructor(file: JournalFile) {
    try {
      file.remove(ASIDE);
      this.#fd = openSync(`${file.path}${ASIDE}`, "ax", 0o600);
    } catch {
      this.#fd = undefined;
    }
  }

  add(line: Buffer): void {
    if (this.#fd === undefined || line.length >= this.#room) return;
    this.#room -= line.length + 1;
    try {
      writeSync(this.#fd, Buffer.concat([line, Buffer.from("\n")]));
    } catch {
      this.#room = 0;
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
  }
}

/** The offset after the last line feed; searched from the end, in pieces. */
function endOfLastLine(fd: number): number {
  const piece = Buffer.allocUnsafe(64 * 1024);
  for (let end = fstatSync(fd).size; end > 0; ) {
    const begin = Math.max(0, end - piece.length);
    const read = readSync(fd, piece, 0, end - begin, begin);
    const at = piece.subarray(0, read).lastIndexOf("\n");
    if (at >= 0) return begin + at + 1;
    end = begin;
  }
  return 0;
}
