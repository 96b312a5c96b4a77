import { randomUUID } from "node:crypto";
import { within } from "../../base/abort.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import { remindAgents } from "./remind.ts";
import { lookAgain } from "./second-look.ts";
import { WakeRun } from "./wake-run.ts";
import type { WakeWorkerDeps } from "./wake-worker-deps.ts";

const AT_ONCE = 64;
const LOOK_MS = 250;
const MISSING_MS = 5000;
const MISSED = "waiting messages cannot be read";
const DOUBT_MS = 5000;
const DOUBTED = "wakes with an unknown outcome cannot be read";
const REMIND_MS = 5000;
const FORGOTTEN = "unacknowledged messages cannot be read";

/**
 * Wakes agents that have waiting messages. Every process runs one. The process that claims a wake works on it; if it is
 * killed, another process finds all that it needs in the database.
 */
export class WakeWorker implements Task {
  readonly #deps: WakeWorkerDeps;
  readonly #by = randomUUID();
  readonly #running = new Set<Promise<void>>();
  #poke = Promise.withResolvers<void>();

  constructor(deps: WakeWorkerDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    using _heard = this.#deps.changes.subscribe(() => this.#poke.resolve());
    await runTasks(signal, [
      { run: (stop) => this.#claim(stop) },
      { run: (stop) => this.#every(MISSING_MS, MISSED, () => this.#makeMissing(), stop) },
      { run: (stop) => this.#every(DOUBT_MS, DOUBTED, () => lookAgain(this.#deps, stop), stop) },
      { run: (stop) => this.#every(REMIND_MS, FORGOTTEN, () => remindAgents(this.#deps, stop), stop) },
    ]);
    await Promise.all(this.#running);
  }

  async #claim(signal: AbortSignal): Promise<void> {
    const { clock, logger, wakes, runtimes } = this.#deps;
    let failing = false;
    while (!signal.aborted) {
      const room = AT_ONCE - this.#running.size;
      try {
        for (const claimed of room > 0 ? await wakes.claim(this.#by, room, runtimes.kind) : []) {
          const run = new WakeRun({ ...this.#deps, by: this.#by }, claimed).run(signal);
          const ended = run.finally(() => this.#running.delete(ended));
          this.#running.add(ended);
        }
        failing = false;
      } catch (err) {
        if (!failing) logger.warn({ err }, "wakes cannot be claimed");
        failing = true;
      }
      // Waits a moment, so that a burst of notifications causes one claim.
      const poked = this.#poke.promise.then(() => clock.sleep(10, signal).catch(() => {}));
      await within(clock, LOOK_MS, poked, signal);
      this.#poke = Promise.withResolvers<void>();
    }
  }

  async #makeMissing(): Promise<void> {
    const { logger, wakes } = this.#deps;
    const made = await wakes.makeMissing();
    if (made > 0) logger.info({ wakes: made }, "made wakes for waiting messages");
  }

  /** Runs `work` every `ms` milliseconds. Logs a failure as `failed` and continues. */
  async #every(ms: number, failed: string, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(ms, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        await work();
      } catch (err) {
        logger.debug({ err }, failed);
      }
    }
  }
}
