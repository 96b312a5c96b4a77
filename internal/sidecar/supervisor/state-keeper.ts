import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import { FifoHolder, makeFifo } from "../../files/fifo.ts";
import {
  isOfKind,
  prepareStateDir,
  removeStrange,
  restorePermissions,
  type StatePaths,
  stateEntriesOf,
  writeStateFiles,
} from "../halves/state-dir.ts";

export interface StateKeeperDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly uid: number;
  /** Makes the task that listens to the serving half; called again after the folder was created again. */
  readonly listener: () => Task;
  /** Called after the folder was made again. */
  readonly restored: () => void;
}

export interface StateKeeperOptions {
  readonly paths: StatePaths;
  /** The content of the folder's files, by absolute path. */
  readonly files: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

type Part = Readonly<Parameters<typeof isOfKind>>;

const LOOK_EVERY_MS = 1000;

/**
 * Keeps the state folder: the agent runs as the same user, so it may remove, replace or lock the folder's entries.
 * Missing entries are created again; a new journal contains what the serving half still knows.
 */
export class StateKeeper implements Task {
  readonly #deps: StateKeeperDeps;
  readonly #options: StateKeeperOptions;
  /** The required entries, and the kind of each. */
  readonly #parts: readonly Part[];

  constructor(deps: StateKeeperDeps, options: StateKeeperOptions) {
    this.#deps = deps;
    this.#options = options;
    const written = Object.keys(options.files).map((path) => [path, "file"] as const);
    this.#parts = [...new Map([[options.paths.dir, "folder"] as const, ...stateEntriesOf(options.paths), ...written])];
  }

  /** Makes the folder with everything in it. @throws DomainError as `prepareStateDir` and `makeFifo` */
  async make(): Promise<void> {
    const { paths, files, env } = this.#options;
    prepareStateDir(paths, this.#deps.uid);
    writeStateFiles(paths, files);
    await makeFifo(paths.hookFifo, env);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { logger, restored } = this.#deps;
    while (!signal.aborted) {
      const missing = await this.#keep(signal);
      if (missing === undefined || signal.aborted) return;
      logger.error({ missing }, "something in the state folder was removed: creating it again");
      if (await this.#makeAgain(signal)) restored();
    }
  }

  /** Holds the FIFO and listens until something is missing, which is returned, or until `signal`. */
  async #keep(signal: AbortSignal): Promise<string | undefined> {
    let missing: string | undefined;
    const looking = {
      run: async (stop: AbortSignal) => {
        missing = await this.#untilMissing(stop);
      },
    };
    try {
      await runTasks(signal, [new FifoHolder(this.#options.paths.hookFifo), this.#deps.listener(), looking]);
    } catch (err) {
      // A task fails if an entry is removed at the instant at which the task opens it. A missing socket does not count:
      // it may be a consequence of the failure.
      missing = firstMissing(this.#parts.filter(([, kind]) => kind !== "socket"));
      if (missing === undefined) throw err;
    }
    return missing;
  }

  /**
   * A full disk or a path in the way must not end the agent: tries again each second. Returns false if `signal` was
   * aborted first.
   */
  async #makeAgain(signal: AbortSignal): Promise<boolean> {
    const { clock, logger } = this.#deps;
    while (!signal.aborted) {
      try {
        removeStrange(this.#options.paths.dir, "folder");
        await this.make();
        return true;
      } catch (err) {
        logger.error({ err }, "the state folder cannot be created again, trying each second");
      }
      await clock.sleep(LOOK_EVERY_MS, signal).catch(() => {});
    }
    return false;
  }

  async #untilMissing(signal: AbortSignal): Promise<string | undefined> {
    for (let before: string | undefined; ; ) {
      await this.#deps.clock.sleep(LOOK_EVERY_MS, signal).catch(() => {});
      if (signal.aborted) return undefined;
      for (const path of restorePermissions(this.#options.paths)) {
        this.#deps.logger.warn(
          { path },
          "the permissions of a part of the state folder were taken away: restoring them",
        );
      }
      const missing = firstMissing(this.#parts);
      // It must be missing twice in a row: tmux's socket is away for a moment while a lost server is made again.
      if (missing !== undefined && missing === before) return missing;
      before = missing;
    }
  }
}

/** The first path without an entry, or with an entry of another kind. */
function firstMissing(parts: readonly Part[]): string | undefined {
  return parts.find(([path, kind]) => !isOfKind(path, kind))?.[0];
}
