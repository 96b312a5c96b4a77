import { createConnection, type Socket } from "node:net";
import { basename } from "node:path";
import { PinnedFolder, type PinnedFolderOptions } from "../../files/pinned-folder.ts";
import { type StatePaths, statePaths } from "./state-dir.ts";

/** The state folder as the serving half uses it: everything in it may have been put there by the agent. */
export interface StateFolder extends Disposable {
  readonly paths: StatePaths;
  readonly folder: PinnedFolder;
  readonly hooks: PinnedFolder;
  readonly captures: PinnedFolder;
  /** See `JournalFile`. */
  readonly journal: { readonly path: string; remove(suffix: "" | ".next" | ".damaged"): void };
  /**
   * Begins to connect to one of the supervising half's sockets. @throws like `PinnedFolder.nameSocket` if there is none
   */
  connect(socket: "control" | "clients"): Socket;
}

export function openStateFolder(dir: string, options: PinnedFolderOptions): StateFolder {
  const paths = statePaths(dir);
  const folder = PinnedFolder.at(dir, options);
  const hooks = folder.inside(basename(paths.hookDir));
  const captures = folder.inside(basename(paths.captures));
  const name = basename(paths.journal);
  return {
    paths,
    folder,
    hooks,
    captures,
    journal: {
      get path() {
        return folder.place(name);
      },
      remove: (suffix) => folder.remove(`${name}${suffix}`),
    },
    connect: (socket) => {
      using named = folder.nameSocket(basename(paths[socket]));
      return createConnection(named.path); // looks the path up before it returns
    },
    [Symbol.dispose]: () => {
      for (const each of [hooks, captures, folder]) each[Symbol.dispose]();
    },
  };
}
