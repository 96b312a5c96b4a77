import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { descriptorPath } from "./open-below.ts";

/** As in open-below.ts: the descriptor only names a place. */
const O_PATH = 0x200000;

/**
 * True when two open folders are the same or one contains the other, compared by device and inode: neither names nor
 * links count. Linux only.
 */
export function foldersOverlap(one: number, other: number): boolean {
  return ancestorsOf(one).includes(folderId(other)) || ancestorsOf(other).includes(folderId(one));
}

/** The ids of the folder and of all folders above it. */
function ancestorsOf(folder: number): readonly string[] {
  const ids: string[] = [];
  let fd = openAbove(folder, ".");
  try {
    while (ids.at(-1) !== folderId(fd)) {
      ids.push(folderId(fd)); // the parent of the highest folder is that folder itself
      const above = openAbove(fd, "..");
      closeSync(fd);
      fd = above;
    }
    return ids;
  } finally {
    closeSync(fd);
  }
}

function openAbove(fd: number, name: "." | ".."): number {
  return openSync(`${descriptorPath(fd)}/${name}`, O_PATH | constants.O_DIRECTORY);
}

/** Identifies an open folder, whatever its name, by device and inode. */
export function folderId(fd: number): string {
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return `${dev} ${ino}`;
}
