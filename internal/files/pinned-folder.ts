import { closeSync, constants, fstatSync, lstatSync, opendirSync, read, rmdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  checkPart,
  descriptorPath,
  HAS_PROC,
  namePlace,
  nameWithoutLinks,
  OddFileError,
  type Oddity,
  openChecked,
} from "./open-below.ts";

export interface PinnedFolderOptions {
  /** False if the path to the folder may contain links. The folder itself is never a link. */
  readonly strict: boolean;
  /** Called for each unexpected file, before the call that found it fails or continues without it. */
  readonly onOdd?: (oddity: Oddity) => void;
}

const readAt = promisify(read);

/**
 * Limits for the removal of a tree: the number of entries, since a removal blocks this process, and the depth. Later
 * calls remove the rest.
 */
const REMOVE_MOST = 1000;
const REMOVE_DEPTH = 32;

/**
 * A folder that others may change, held by a descriptor: whatever they put in its place, each name is looked up in this
 * very folder, no link is followed out of it, and only plain files, FIFOs and sockets of its owner or of this user are
 * opened. If another folder has taken its name, the next call continues in that folder.
 *
 * Without /proc (macOS) names are looked up by path: a folder above that is replaced during a call can then lead
 * elsewhere. Every opened file is still checked. Every call is synchronous up to the opening, so a descriptor is never
 * used late.
 */
export class PinnedFolder implements Disposable {
  /** The path as given, for programs that look it up themselves. */
  readonly path: string;
  readonly #locate: () => number;
  readonly #options: PinnedFolderOptions;
  readonly #parent: PinnedFolder | undefined;
  #fd: number | undefined;
  #uid = 0;

  private constructor(path: string, locate: () => number, options: PinnedFolderOptions, parent?: PinnedFolder) {
    this.path = path;
    this.#locate = locate;
    this.#options = options;
    this.#parent = parent;
  }

  /**
   * `path` is absolute. It is looked up at the first use, which throws OddFileError, or as open(2), if it is not a
   * folder.
   */
  static at(path: string, options: PinnedFolderOptions): PinnedFolder {
    const locate = () => (options.strict ? nameWithoutLinks(path) : namePlace(path, "folder"));
    return new PinnedFolder(path, locate, options);
  }

  /** A folder in this one. */
  inside(name: string): PinnedFolder {
    const locate = () => namePlace(this.place(name), "folder");
    return new PinnedFolder(join(this.path, checkPart(name)), locate, this.#options, this);
  }

  /**
   * The path of an entry, to be used at once in one call of the file system: a later call may find another folder
   * pinned.
   */
  place(name: string): string {
    checkPart(name);
    return HAS_PROC ? descriptorPath(this.#pinned(), name) : join(this.path, name);
  }

  /** The folder's own path, to be used at once; also valid as the working folder of a child. */
  get cwd(): string {
    return HAS_PROC ? descriptorPath(this.#pinned()) : this.path;
  }

  /** Opens a plain file with one name. @throws OddFileError; else as `openSync` */
  openFile(name: string, flags: number): number {
    return this.#noting(() => openChecked(this.place(name), "file", flags, (uid) => this.#isOwner(uid)));
  }

  /** Opens a FIFO for both directions, so that neither opening nor reading waits for a writer. @throws as `openFile` */
  openFifo(name: string): number {
    return this.#noting(() => openChecked(this.place(name), "FIFO", constants.O_RDWR, (uid) => this.#isOwner(uid)));
  }

  /** A path that leads to a socket and nothing else; dispose of it after connecting. @throws as `openFile` */
  nameSocket(name: string): { readonly path: string } & Disposable {
    if (!HAS_PROC) return { path: this.place(name), [Symbol.dispose]: () => {} };
    const fd = this.#noting(() => namePlace(this.place(name), "socket"));
    return { path: descriptorPath(fd), [Symbol.dispose]: () => closeSync(fd) };
  }

  /**
   * A text file's content; undefined if there is none, if it is another kind of file, or if it has more than
   * `maxBytes`.
   */
  async readText(name: string, maxBytes: number): Promise<string | undefined> {
    const fd = this.#tryOpen(name);
    if (fd === undefined) return undefined;
    try {
      const { size } = fstatSync(fd);
      if (size > maxBytes) return undefined;
      const { bytesRead, buffer } = await readAt(fd, Buffer.allocUnsafe(size), 0, size, 0);
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      closeSync(fd);
    }
  }

  /**
   * Removes an entry of any kind: a folder with its contents, and a link without its target. A missing entry is not an
   * error.
   */
  remove(name: string): void {
    try {
      if (HAS_PROC) removeBelow(this.#pinned(), checkPart(name), { left: REMOVE_MOST }, REMOVE_DEPTH);
      else unlinkSync(this.place(name));
    } catch {
      // the entry has gone, is being changed, or may not be removed: nothing here depends on the removal
    }
  }

  [Symbol.dispose](): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #tryOpen(name: string): number | undefined {
    try {
      return this.openFile(name, constants.O_RDONLY);
    } catch {
      return undefined;
    }
  }

  #noting<T>(act: () => T): T {
    try {
      return act();
    } catch (err) {
      if (err instanceof OddFileError && !err.isNoted) {
        err.isNoted = true;
        this.#options.onOdd?.(err.oddity);
      }
      throw err;
    }
  }

  #isOwner(uid: number): boolean {
    return uid === this.#uid || uid === process.geteuid?.();
  }

  #pinned(): number {
    if (this.#fd !== undefined && this.#isInPlace(this.#fd)) return this.#fd;
    const fd = this.#noting(this.#locate);
    this[Symbol.dispose]();
    this.#uid = fstatSync(fd).uid;
    this.#fd = fd;
    return fd;
  }

  #isInPlace(fd: number): boolean {
    const there =
      this.#parent === undefined ? this.path : this.#parent.place(this.path.slice(this.#parent.path.length + 1));
    const found = lstatSync(there, { bigint: true, throwIfNoEntry: false });
    const { ino, dev } = fstatSync(fd, { bigint: true });
    return found !== undefined && found.ino === ino && found.dev === dev;
  }
}

/** Walks by descriptors: a folder that becomes a link meanwhile is not entered. */
function removeBelow(dir: number, name: string, budget: { left: number }, depth: number): void {
  if (depth === 0 || budget.left-- <= 0) return;
  const place = descriptorPath(dir, name);
  if (!lstatSync(place).isDirectory()) {
    unlinkSync(place);
    return;
  }
  const fd = namePlace(place, "folder");
  try {
    for (const entry of entriesOf(fd, budget.left)) removeBelow(fd, entry, budget, depth - 1);
  } finally {
    closeSync(fd);
  }
  rmdirSync(place);
}

/** At most `most` names of a folder; the others are not read. */
function entriesOf(fd: number, most: number): readonly string[] {
  const dir = opendirSync(descriptorPath(fd));
  try {
    const names: string[] = [];
    for (let entry = dir.readSync(); entry !== null && names.length < most; entry = dir.readSync()) {
      names.push(entry.name);
    }
    return names;
  } finally {
    dir.closeSync();
  }
}
