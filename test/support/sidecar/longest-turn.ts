/** The time between two measurements of the fixed work. */
const BASELINE_EVERY_MS = 50;
const FIELD = new Float64Array(128 * 1024).fill(1.5);
/** About 2 ms on a calm machine. */
const ROUNDS = 16;

/**
 * Measures, until it is disposed of, the longest time for which this thread computes without letting a timer run, so
 * that its other work waits. Time during which other processes have the core does not count. A shared machine still
 * adds processor time (stolen cores, cold caches, accounting by ticks); fixed work in the same thread measures it, and
 * `ms` subtracts it. Without this, 2 ms of work have counted as 22.
 */
export class LongestTurn implements Disposable {
  #ms = 0;
  #last = 0;
  #timer: NodeJS.Timeout | undefined;
  #baselineAt = 0;
  readonly #baseline = { least: Number.POSITIVE_INFINITY, most: 0 };

  constructor() {
    for (let i = 0; i < 5; i++) this.#measureBaseline();
    this.#last = threadCpuMs();
    this.#timer = setTimeout(() => this.#look(), 1);
  }

  /**
   * The longest so far, in milliseconds of processor time, without the time that the machine added to the fixed work.
   */
  get ms(): number {
    const { least, most } = this.#baseline;
    return Math.max(0, Math.max(this.#ms, threadCpuMs() - this.#last) - (most - least));
  }

  #look(): void {
    this.#ms = Math.max(this.#ms, threadCpuMs() - this.#last);
    if (performance.now() - this.#baselineAt >= BASELINE_EVERY_MS) this.#measureBaseline();
    this.#last = threadCpuMs();
    this.#timer = setTimeout(() => this.#look(), 1);
  }

  #measureBaseline(): void {
    const begun = threadCpuMs();
    let sum = 0;
    for (let round = 0; round < ROUNDS; round++) for (const value of FIELD) sum += value;
    const took = threadCpuMs() - begun + (sum > 0 ? 0 : 1);
    this.#baseline.least = Math.min(this.#baseline.least, took);
    this.#baseline.most = Math.max(this.#baseline.most, took);
    this.#baselineAt = performance.now();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
