import { within } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import { runTasks } from "../../base/task-group.ts";
import { DelayedKeys } from "./delayed-keys.ts";
import { KeyTurns } from "./key-turns.ts";
import { RetryLimits } from "./retry-limits.ts";

export interface WorkQueueDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Brings the object of a key into its desired state. Runs concurrently for different keys, never for the same key. If
   * it throws, the key is retried. The signal is aborted after `timeoutMs`, and when the queue ends.
   */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<void>;
}

export interface WorkQueueOptions {
  /** Names the queue in logs. */
  readonly name: string;
  readonly workers: number;
  /** Limit of one run of `reconcile`. */
  readonly timeoutMs: number;
  /** Groups of keys that take turns and share a retry limit. Default: all keys form one group. */
  readonly groups?: KeyGroups;
}

export interface KeyGroups {
  /** The group of a key; the number of groups should be small. */
  readonly of: (key: string) => string;
  /** The most workers that one group may occupy. */
  readonly workersOfOne: number;
}

/**
 * Keys to be reconciled, by the rules of client-go's work queue: a key that is added several times is processed once;
 * one that is added while it is being processed is processed again afterwards; failures are retried with back-off.
 * Bounded by the number of keys.
 */
export class WorkQueue {
  readonly #deps: WorkQueueDeps;
  readonly #options: WorkQueueOptions;
  readonly #groupOf: (key: string) => string;
  readonly #limits: RetryLimits;
  readonly #ready: KeyTurns;
  /** Keys being processed. */
  readonly #processing = new Set<string>();
  /** Keys added while they were being processed. */
  readonly #again = new Set<string>();
  readonly #delayed = new DelayedKeys();
  readonly #wakeWorkers = new SignalBus();
  readonly #wakeTimer = new SignalBus();

  constructor(deps: WorkQueueDeps, options: WorkQueueOptions) {
    this.#deps = deps;
    this.#options = options;
    const { of = () => "", workersOfOne = options.workers } = options.groups ?? {};
    this.#groupOf = of;
    this.#limits = new RetryLimits(deps.clock);
    this.#ready = new KeyTurns(workersOfOne);
  }

  /** The number of keys that wait for a worker; for metrics. */
  get depth(): number {
    return this.#ready.size + this.#again.size;
  }

  add(key: string): void {
    if (this.#processing.has(key)) {
      this.#again.add(key);
      return;
    }
    this.#ready.add(key, this.#groupOf(key));
    this.#wakeWorkers.notify();
  }

  /** Adds the key after `ms`. If that is requested several times, the earliest time applies. */
  addAfter(key: string, ms: number): void {
    this.#delayed.put(key, this.#deps.clock.monotonicMs() + Math.max(0, ms));
    this.#wakeTimer.notify();
  }

  /** Works until the signal is aborted; resolves when the last `reconcile` has returned. */
  async run(signal: AbortSignal): Promise<void> {
    const workers = Array.from({ length: this.#options.workers }, () => ({
      run: (each: AbortSignal) => this.#work(each),
    }));
    await runTasks(signal, [...workers, { run: (each) => this.#moveDue(each) }]);
    while (this.#processing.size > 0) await this.#wakeWorkers.next(NEVER);
  }

  async #work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#ready.begin();
      if (next === undefined) {
        await this.#wakeWorkers.next(signal);
        continue;
      }
      this.#processing.add(next.key);
      await this.#process(next.key, signal);
      this.#ready.end(next.group);
    }
  }

  /**
   * Resolves when the key is done or timed out. A `reconcile` that ignores its signal keeps the key in `#processing`,
   * but releases the worker.
   */
  async #process(key: string, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const { name, timeoutMs } = this.#options;
    const expired = new AbortController();
    const ended = this.#reconcile(key, AbortSignal.any([signal, expired.signal])).then(() => true);
    if (await within(clock, timeoutMs, ended)) return;
    expired.abort(new DomainError("deadline", `cannot reconcile within ${timeoutMs} ms`));
    // Most runs of `reconcile` end soon after the signal is aborted.
    if (await within(clock, HEED_MS, ended)) return;
    logger.error({ queue: name, key }, "work does not end at its deadline");
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const { reconcile, logger } = this.#deps;
    try {
      await reconcile(key, signal);
      this.#limits.forget(key);
    } catch (err) {
      const delayMs = this.#limits.delayMs(key, this.#groupOf(key));
      logger.warn({ err, queue: this.#options.name, key, retry_ms: Math.round(delayMs) }, "cannot reconcile");
      this.addAfter(key, delayMs);
    } finally {
      this.#processing.delete(key);
      if (this.#again.delete(key)) this.#ready.add(key, this.#groupOf(key));
      this.#wakeWorkers.notify();
    }
  }

  async #moveDue(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted) {
      const now = clock.monotonicMs();
      for (let key = this.#delayed.take(now); key !== undefined; key = this.#delayed.take(now)) this.add(key);
      const next = this.#delayed.nextAt();
      if (next === undefined) await this.#wakeTimer.next(signal);
      else await this.#wakeTimer.nextOrAfter(next - now, clock, signal);
    }
  }
}

const HEED_MS = 1_000;
const NEVER = new AbortController().signal;
