import { type FSWatcher, watch } from "node:fs";

/** One wait for a change of a folder. */
export interface FolderWatch extends Disposable {
  /** Resolves at the first change since the watch began; never when nothing can be watched here. */
  readonly changed: Promise<void>;
}

/**
 * Watches the folder itself: a watch on a file ends with the file, which a rename over it or the swap of a link puts
 * out of sight. Some volumes send no notifications, so waiting also needs a time-out.
 */
export function watchFolder(dir: string): FolderWatch {
  const { promise: changed, resolve } = Promise.withResolvers<void>();
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(dir, { persistent: false }, () => resolve());
    watcher.on("error", () => resolve());
  } catch {
    // No such folder now, or the system's watches are used up.
  }
  return { changed, [Symbol.dispose]: () => watcher?.close() };
}

/** As `watchFolder`, of several: resolves at the first change of any. */
export function watchFolders(dirs: readonly string[]): FolderWatch {
  const watches = new DisposableStack();
  const changed = Promise.race(dirs.map((dir) => watches.use(watchFolder(dir)).changed));
  return { changed, [Symbol.dispose]: () => watches[Symbol.dispose]() };
}
