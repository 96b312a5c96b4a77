import { closeSync, fstatSync, lstatSync, readdirSync, readSync } from "node:fs";
import { DomainError } from "../base/errors.ts";
import { mountOf } from "./mount-id.ts";
import { descriptorPath, HAS_PROC, OddFileError } from "./open-below.ts";
import type { PathPattern } from "./path-patterns.ts";
import { plainParts, RootedWalk } from "./rooted-walk.ts";
import { systemReason } from "./system-reason.ts";

/** The reason why a file is not read. */
type ReadRefusal = "not allowed" | "not found" | "too large" | "not text" | "internal error";

export type ReadResult =
  | { readonly ok: true; readonly text: string; readonly bytes: number }
  | { readonly ok: false; readonly reason: ReadRefusal };

/** The readable files below a root. */
export interface AllowList {
  readonly patterns: readonly PathPattern[];
  /** The largest file, bytes. */
  readonly maxBytes: number;
}

const MAX_PATH_BYTES = 4096;
/** Deeper folders, and more entries, are not listed. */
const MAX_DEPTH = 16;
const MAX_VISITED = 5000;

/**
 * The text files of one folder, under a prefix such as `/docs` that replaces its path for callers. The folder is held
 * by a descriptor: a folder that takes its name later is not read. Linux only.
 */
export class AllowedFiles implements Disposable {
  readonly prefix: string;
  readonly #walk: RootedWalk;
  readonly #mount: string;

  /** Holds the folder at `root`, whose own path may contain links. @throws DomainError `unavailable` */
  constructor(root: string, prefix: string) {
    if (!HAS_PROC) throw new DomainError("unavailable", "reading files within bounds needs Linux's /proc");
    this.prefix = prefix;
    try {
      this.#walk = new RootedWalk(root);
    } catch (cause) {
      const reason = systemReason(cause, "folder");
      throw new DomainError("unavailable", `cannot open the folder ${root}: ${reason}`, { cause });
    }
    this.#mount = mountOf(this.#walk.root);
  }

  /** The root's descriptor, for comparing it with other folders. */
  get root(): number {
    return this.#walk.root;
  }

  /**
   * The text of the file at `path`, which begins with the prefix. A path that is not plain, not under the prefix or not
   * on the list is `not allowed` without a look at the file system, so that no answer reveals what exists elsewhere.
   * Links, files with a second name, other kinds of files and files on other mounts are `not allowed` too. Never waits
   * for a FIFO or a device.
   */
  read(path: string, { patterns, maxBytes }: AllowList): ReadResult {
    const parts = this.#partsOf(path, patterns);
    if (parts === undefined) return refusal("not allowed");
    let fd: number;
    try {
      fd = this.#walk.openFile(parts);
    } catch (err) {
      return refusal(reasonOf(err));
    }
    try {
      if (mountOf(fd) !== this.#mount) return refusal("not allowed");
      return textOf(fd, maxBytes);
    } catch {
      return refusal("internal error");
    } finally {
      closeSync(fd);
    }
  }

  /** The paths of readable files in the order of their names, at most `limit`. */
  list({ patterns, maxBytes }: AllowList, limit: number): readonly string[] {
    const found: string[] = [];
    let visited = 0;
    const visit = (parts: readonly string[]): void => {
      for (const name of this.#entriesOf(parts)) {
        if (found.length >= limit || ++visited > MAX_VISITED) return;
        const below = [...parts, name.name];
        const path = `${this.prefix}/${below.join("/")}`;
        if (name.isFolder) {
          if (below.length < MAX_DEPTH) visit(below);
        } else if (name.bytes <= maxBytes && this.#partsOf(path, patterns) !== undefined) found.push(path);
      }
    };
    visit([]);
    return found;
  }

  [Symbol.dispose](): void {
    this.#walk[Symbol.dispose]();
  }

  /** The parts of a path below the root; undefined if the path may not be read. */
  #partsOf(path: string, patterns: readonly PathPattern[]): readonly string[] | undefined {
    if (!path.startsWith(`${this.prefix}/`) || path.endsWith("/")) return undefined;
    if (Buffer.byteLength(path) > MAX_PATH_BYTES) return undefined;
    const parts = plainParts(path);
    if (parts === undefined || !patterns.some((matches) => matches(parts))) return undefined;
    return parts.slice(this.prefix.split("/").length - 1);
  }

  /** Plain files with one name, and folders. */
  #entriesOf(parts: readonly string[]): readonly Entry[] {
    let fd: number;
    try {
      fd = this.#walk.openFolder(parts);
    } catch {
      return [];
    }
    try {
      if (mountOf(fd) !== this.#mount) return [];
      return readdirSync(descriptorPath(fd))
        .sort()
        .flatMap((name) => entryOf(fd, name) ?? []);
    } catch {
      return [];
    } finally {
      closeSync(fd);
    }
  }
}

interface Entry {
  readonly name: string;
  readonly isFolder: boolean;
  readonly bytes: number;
}

function entryOf(folder: number, name: string): Entry | undefined {
  const found = lstatSync(descriptorPath(folder, name), { throwIfNoEntry: false });
  if (found?.isDirectory()) return { name, isFolder: true, bytes: 0 };
  return found?.isFile() && found.nlink === 1 ? { name, isFolder: false, bytes: found.size } : undefined;
}

/** Reads one byte more than is allowed: the file may have grown since its size was read. */
function textOf(fd: number, maxBytes: number): ReadResult {
  const { size } = fstatSync(fd);
  if (size > maxBytes) return refusal("too large");
  const data = scratch(maxBytes + 1);
  let filled = 0;
  for (let read = -1; read !== 0 && filled < data.length; filled += read) {
    read = readSync(fd, data, filled, data.length - filled, filled);
  }
  if (filled > maxBytes) return refusal("too large");
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data.subarray(0, filled));
    return { ok: true, text, bytes: filled };
  } catch {
    return refusal("not text");
  }
}

let lastScratch = Buffer.alloc(0);

/**
 * A buffer that all reads share, because files are read one after the other: a new one for each would leave megabytes
 * of garbage.
 */
function scratch(bytes: number): Buffer {
  if (lastScratch.length < bytes) lastScratch = Buffer.allocUnsafeSlow(bytes);
  return lastScratch.subarray(0, bytes);
}

function reasonOf(err: unknown): ReadRefusal {
  if (err instanceof OddFileError) return "not allowed";
  switch ((err as NodeJS.ErrnoException).code) {
    case "ENOENT":
    case "ENOTDIR":
      return "not found";
    case "EACCES":
    case "EPERM":
    case "ELOOP":
      return "not allowed";
    default:
      return "internal error";
  }
}

function refusal(reason: ReadRefusal): ReadResult {
  return { ok: false, reason };
}
