import type { Clock } from "../base/clock.ts";
import { parseStat, readOrEmpty } from "./proc-files.ts";
import type { ProcessFacts } from "./process-facts.ts";
import { sampleWork } from "./process-work.ts";

/**
 * One sample reads all processes, which takes milliseconds, so samples are rate-limited.
 */
const SAMPLE_EVERY_MS = 100;

/** What this process can see of others, by /proc. */
export class ProcessInspector {
  readonly #clock: Clock;
  #sampledAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Without `work` when that was asked for a moment ago, and without anything when there is no such process, or it has
   * ended.
   */
  facts(pid: number, work: boolean): ProcessFacts {
    const stat = parseStat(readOrEmpty(`/proc/${pid}/stat`));
    const startedAt = stat?.isZombie === false ? stat.startedAt : undefined;
    const sample = work ? this.#sample(pid) : undefined;
    return {
      ...(startedAt !== undefined && { startTicks: Number(startedAt) }),
      ...(sample !== undefined && { work: sample }),
    };
  }

  #sample(pid: number) {
    const now = this.#clock.monotonicMs();
    if (now - this.#sampledAt < SAMPLE_EVERY_MS) return undefined;
    this.#sampledAt = now;
    return sampleWork(pid);
  }
}
