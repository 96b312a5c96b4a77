import { untilAborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Task } from "../../base/task-group.ts";
import type { WorkSample } from "../../process/process-facts.ts";
import { didWork } from "../../process/process-work.ts";

export interface WorkWatchDeps {
  readonly clock: Clock;
  readonly monitor: {
    /** See `StateMonitor`. */
    readonly stallsAt: number | undefined;
    worked(): void;
  };
  /** Samples the agent's processes now; undefined if they cannot be seen. */
  readonly sample: () => Promise<WorkSample | undefined>;
}

/** The longest time between two samples; at most half of the time after which an agent counts as stalled. */
const WINDOW_MS = 30_000;
const LOOK_EVERY_MS = 1000;
/** Both samples fall into this share of the time left before a stall: a busy machine takes the second one late. */
const SAMPLED_SHARE = 0.75;

/**
 * Reports to the monitor that an agent that prints nothing is working nevertheless. Looks at the agent's processes only
 * while it counts as stalled and shortly before it would.
 */
export class WorkWatch implements Task {
  readonly #deps: WorkWatchDeps;
  readonly #windowMs: number;

  constructor(deps: WorkWatchDeps, options: { readonly stallAfterMs: number }) {
    this.#deps = deps;
    this.#windowMs = Math.min(WINDOW_MS, options.stallAfterMs / 2);
  }

  run(signal: AbortSignal): Promise<void> {
    return untilAborted(signal, () => this.#step(signal));
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { clock, monitor } = this.#deps;
    const leftMs = (monitor.stallsAt ?? Number.POSITIVE_INFINITY) - clock.monotonicMs();
    if (leftMs > this.#windowMs) {
      return await clock.sleep(Math.min(LOOK_EVERY_MS, this.#windowMs / 4), signal);
    }
    const forMs = leftMs > 0 ? Math.min(leftMs, this.#windowMs) * SAMPLED_SHARE : this.#windowMs;
    const before = await this.#deps.sample();
    const since = clock.monotonicMs();
    await clock.sleep(forMs, signal);
    const after = await this.#deps.sample();
    if (before === undefined || after === undefined || monitor.stallsAt === undefined) return;
    if (didWork(before, after, clock.monotonicMs() - since)) monitor.worked();
  }
}
