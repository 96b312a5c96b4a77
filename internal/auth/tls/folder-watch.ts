import { type FSWatcher, watch } from "node:fs";

/** Waits for one change of a folder. */
export interface FolderWatch extends Disposable {
  /** Resolves at the first change since the watch began; never if the folder cannot be watched. */
  readonly changed: Promise<void>;
}

/**
 * Watches the folder itself, because a watch on a file stays with the old inode when the file is renamed over or a link
 * is swapped. Some volumes send no notifications, so the wait also needs a time-out.
 */
function watchFolder(dir: string): FolderWatch {
  const { promise: changed, resolve } = Promise.withResolvers<void>();
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(dir, { persistent: false }, () => resolve());
    watcher.on("error", () => resolve());
  } catch {
    // The folder does not exist now, or the system's watches are used up.
  }
  return { changed, [Symbol.dispose]: () => watcher?.close() };
}

/** Watches several folders: `changed` resolves at the first change in any of them. */
export function watchFolders(dirs: readonly string[]): FolderWatch {
  const watches = new DisposableStack();
  const changed = Promise.race(dirs.map((dir) => watches.use(watchFolder(dir)).changed));
  return { changed, [Symbol.dispose]: () => watches[Symbol.dispose]() };
}
