import { closeSync, ftruncateSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";

const LF = 0x0a;

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
   * cut off; lines that `parse` does not understand are left out and counted.
   */
  static open<T>(path: string, parse: (value: unknown) => T | undefined) {
    const { records, unreadable, wholeBytes } = readJournal(path, parse);
    const fd = openSync(path, "a", 0o600);
    ftruncateSync(fd, wholeBytes);
    return { journal: new Journal<T>(path, fd, wholeBytes), records, unreadable };
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

  /** Replaces the content in one step: a reader, or the next start, sees either all old or all new records. */
  rewrite(records: readonly T[]): void {
    const next = `${this.#path}.next`;
    rmSync(next, { force: true });
    const fresh = new Journal<T>(next, openSync(next, "ax", 0o600), 0);
    for (const record of records) fresh.append(record);
    renameSync(next, this.#path);
    closeSync(this.#fd);
    this.#fd = fresh.#fd;
    this.#bytes = fresh.#bytes;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function readJournal<T>(path: string, parse: (value: unknown) => T | undefined) {
  const data = readIfThere(path);
  const wholeBytes = data.lastIndexOf(LF) + 1;
  const records: T[] = [];
  let unreadable = 0;
  for (const line of data.toString("utf8", 0, wholeBytes).split("\n")) {
    if (line === "") continue;
    const record = parseLine(line, parse);
    if (record === undefined) unreadable++;
    else records.push(record);
  }
  return { records, unreadable, wholeBytes };
}

function readIfThere(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw err;
  }
}

function parseLine<T>(line: string, parse: (value: unknown) => T | undefined): T | undefined {
  try {
    return parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
