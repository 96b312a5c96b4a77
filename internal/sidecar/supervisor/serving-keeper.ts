import type { ChildProcess } from "node:child_process";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { isWantOfRoom } from "../../process/out-of-resources.ts";
import { REFUSAL_EXIT_CODES } from "../halves/start-refusal.ts";
import { ServingProcesses, type ServingProgram } from "./serving-processes.ts";

export interface ServingKeeperDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Called when the first serving half cannot begin with these flags or addresses, and has reported the reason: the
   * sidecar ends with this exit code.
   */
  readonly refused: (exitCode: number) => void;
  /** Moves the journal, which a serving half reads at its start, out of the way. */
  readonly setJournalAside: () => void;
}

interface ProcessEnd {
  readonly code: number | null;
  readonly signal: string | null;
  /** The reason why it was never started. */
  readonly error?: string;
}

/** A serving half that is silent for this long is killed; it reports once a second. */
const SILENT_MS = 15_000;
/**
 * A serving half that had been up is replaced at once; one that ends earlier is replaced after a pause of at most this
 * long.
 */
const MAX_RESTART_DELAY_MS = 500;
/** After this many in a row that ended by themselves before they served, the journal may be the cause. */
const STILLBORN_MAX = 5;
/** The signals of a process that crashed; null: it exited by itself. */
const CRASHES: ReadonlySet<string | null> = new Set([
  null,
  "SIGABRT",
  "SIGSEGV",
  "SIGBUS",
  "SIGILL",
  "SIGTRAP",
  "SIGFPE",
]);
const PREPARE_AFTER_MS = 300;
/** How long the serving half may take to end its streams. */
const SERVE_STOP_MS = 2000;

/** Keeps a serving half running: replaces one that ended, kills one that does not answer. */
export class ServingKeeper implements Task {
  readonly #deps: ServingKeeperDeps;
  readonly #processes: ServingProcesses;
  #child: ChildProcess | undefined;
  #heardAt = 0;
  /** When a serving half last reported that it serves; 0: none has yet. */
  #upAt = 0;

  constructor(deps: ServingKeeperDeps, program: ServingProgram) {
    this.#deps = deps;
    this.#processes = new ServingProcesses(program);
  }

  /** Makes the first process load its code before `run` is called. */
  prepare(): void {
    this.#processes.prepare();
  }

  /** Call it if `run` will not be called. */
  dismiss(): void {
    this.#processes.dismiss();
  }

  /** To be called at each sign of life of the serving half. */
  heard(): void {
    this.#heardAt = this.#deps.clock.monotonicMs();
  }

  /** To be called when the serving half reports that it serves. */
  up(): void {
    this.#upAt = this.#deps.clock.monotonicMs();
  }

  /** Ends the present process gracefully, so that the next one reads everything again. */
  renew(): void {
    this.#child?.kill("SIGTERM");
  }

  /** Runs until `signal` is aborted, or until the first process refuses to begin, which is reported to `refused`. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const processes = this.#processes;
    let stillborn = 0;
    try {
      while (!signal.aborted) {
        const startedAt = clock.monotonicMs();
        const exit = await this.#serveOnce(processes, signal);
        if (signal.aborted) break;
        stillborn = this.#upAt > startedAt ? 0 : stillborn + 1;
        const refusal = this.#upAt === 0 ? REFUSAL_EXIT_CODES.get(exit.code ?? 0) : undefined;
        if (refusal !== undefined) return this.#deps.refused(refusal);
        logger.error({ ...exit, stillborn }, "serving half ended, restarting it");
        if (stillborn % STILLBORN_MAX === 0 && stillborn > 0 && exit.error === undefined && CRASHES.has(exit.signal)) {
          logger.error({ stillborn }, "the serving half does not start: setting the journal aside");
          this.#deps.setJournalAside();
        }
        const delayMs = Math.min(MAX_RESTART_DELAY_MS, stillborn * 100);
        if (delayMs > 0) await clock.sleep(delayMs, signal).catch(() => {});
      }
    } finally {
      processes.dismiss();
    }
  }

  async #serveOnce(processes: ServingProcesses, stop: AbortSignal): Promise<ProcessEnd> {
    const child = processes.next();
    this.#child = child;
    const done = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<ProcessEnd>();
    child.on("error", (err: NodeJS.ErrnoException) => {
      if (isWantOfRoom(err)) resolve({ code: null, signal: null, error: err.code ?? "" });
      else reject(err);
    });
    child.on("exit", (code, by) => resolve({ code, signal: by }));
    const watching = this.#watch(child, stop, done.signal);
    const preparing = this.#prepareNext(processes, AbortSignal.any([stop, done.signal]));
    try {
      return await promise;
    } finally {
      this.#child = undefined;
      done.abort();
      await Promise.all([watching, preparing]);
    }
  }

  /** Prepares the next process, but not while the present one is starting: they would compete for the processor. */
  async #prepareNext(processes: ServingProcesses, stop: AbortSignal): Promise<void> {
    await this.#deps.clock.sleep(PREPARE_AFTER_MS, stop).catch(() => {});
    if (!stop.aborted) processes.prepare();
  }

  /** Asks it to stop when it is time, and kills it if it does not answer. */
  async #watch(child: ChildProcess, stop: AbortSignal, gone: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const startedAt = clock.monotonicMs();
    const either = AbortSignal.any([stop, gone]);
    while (!either.aborted) {
      await clock.sleep(1000, either).catch(() => {});
      if (clock.monotonicMs() - Math.max(startedAt, this.#heardAt) <= SILENT_MS) continue;
      logger.error({ pid: child.pid }, "serving half does not answer, killing it");
      child.kill("SIGKILL");
      return;
    }
    if (gone.aborted) return;
    child.kill("SIGTERM");
    await clock.sleep(SERVE_STOP_MS, gone).catch(() => {});
    if (!gone.aborted) child.kill("SIGKILL");
  }
}
