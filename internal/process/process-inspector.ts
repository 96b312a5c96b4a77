import type { Clock } from "../base/clock.ts";
import { openFiles } from "./open-files.ts";
import { parseStat, readOrEmpty } from "./proc-files.ts";
import type { ProcessFacts, WantedFacts } from "./process-facts.ts";
import { sampleWork } from "./process-work.ts";

/**
 * One sample reads all processes, which takes milliseconds, so samples are rate-limited.
 */
const SAMPLE_EVERY_MS = 100;

/** Reads facts about other processes from /proc. */
export class ProcessInspector {
  readonly #clock: Clock;
  #sampledAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The result has no `work` if work was sampled less than SAMPLE_EVERY_MS ago, and no `startTicks` if the process does
   * not exist or has ended.
   */
  facts(pid: number, { work = false, files = false }: WantedFacts): ProcessFacts {
    const stat = parseStat(readOrEmpty(`/proc/${pid}/stat`));
    const startedAt = stat?.isZombie === false ? stat.startedAt : undefined;
    const sample = work ? this.#sample(pid) : undefined;
    return {
      startTicks: startedAt === undefined ? undefined : Number(startedAt),
      work: sample,
      files: files ? openFiles(pid, ".jsonl") : undefined,
    };
  }

  #sample(pid: number) {
    const now = this.#clock.monotonicMs();
    if (now - this.#sampledAt < SAMPLE_EVERY_MS) return undefined;
    this.#sampledAt = now;
    return sampleWork(pid);
  }
}
