import { closeSync, constants, fstatSync, openSync, realpathSync } from "node:fs";
import { descriptorPath, HAS_PROC, namePlace, OddFileError, openChecked } from "./open-below.ts";

const MAX_PART_BYTES = 255;

/**
 * The parts of an absolute path, with at most one `/` at its end. Nothing is normalised, decoded or folded. Undefined
 * for `/` itself, and when a part is not a plain name: empty, `.`, `..`, over 255 bytes, with a control character or a
 * lone surrogate.
 */
export function plainParts(path: string): readonly string[] | undefined {
  const [before, ...parts] = path.replace(/(?<=.)\/$/, "").split("/");
  return before === "" && parts.length > 0 && parts.every(isPlainName) ? parts : undefined;
}

function isPlainName(part: string): boolean {
  const isName = part !== "" && part !== "." && part !== ".." && part.isWellFormed() && !/\p{Cc}/u.test(part);
  return isName && Buffer.byteLength(part) <= MAX_PART_BYTES;
}

/**
 * A folder that is held by a descriptor, and the files below it: each part of a path is looked up in the folder before
 * it, and no link is followed, not even one that took the place of a folder meanwhile.
 *
 * Without /proc (macOS) the whole path is resolved at once and refused if it contains a link; the folders before it may
 * change meanwhile.
 */
export class RootedWalk implements Disposable {
  readonly #fd: number;
  readonly #real: string;

  /** Holds the folder at `root`, whose own path may contain links. @throws as `openSync` */
  constructor(root: string) {
    this.#fd = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY);
    this.#real = HAS_PROC ? root : realpathSync(root);
  }

  /**
   * The root's descriptor, for comparing the root with another folder by device and inode. It is closed with this walk.
   */
  get root(): number {
    return this.#fd;
  }

  /**
   * The descriptor of the folder at `parts`, which come from `plainParts`; the root itself when there are none. The
   * caller closes it.
   * @throws OddFileError for a link, or another kind of file; else as `openSync`
   */
  openFolder(parts: readonly string[]): number {
    if (!HAS_PROC) return openFolderByPath(this.#resolve(parts));
    let fd = namePlace(`${descriptorPath(this.#fd)}/.`, "folder");
    for (const part of parts) {
      try {
        const next = namePlace(descriptorPath(fd, part), "folder");
        closeSync(fd);
        fd = next;
      } catch (err) {
        closeSync(fd);
        throw err;
      }
    }
    return fd;
  }

  /**
   * A descriptor for reading the plain file at `parts`, which has at least one part. The file's owner does not matter.
   * Never waits. The caller closes it.
   * @throws OddFileError for a link, a file with a second name, or another kind; else as `openSync`
   */
  openFile(parts: readonly string[]): number {
    const folder = this.openFolder(parts.slice(0, -1));
    try {
      const path = HAS_PROC ? descriptorPath(folder, parts.at(-1) ?? ".") : this.#resolve(parts);
      return openChecked(path, "file", constants.O_RDONLY, () => true);
    } finally {
      closeSync(folder);
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }

  #resolve(parts: readonly string[]): string {
    const path = [this.#real, ...parts].join("/");
    if (realpathSync(path) !== path) throw new OddFileError(path, "link");
    return path;
  }
}

function openFolderByPath(path: string): number {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  if (fstatSync(fd).isDirectory()) return fd;
  closeSync(fd);
  throw new OddFileError(path, "kind");
}
