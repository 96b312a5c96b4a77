import { firstOf } from "./abort.ts";

/**
 * Wakes waiting code when something has changed. Notifications carry no data, so a slow waiter loses nothing if it
 * misses some.
 */
export class SignalBus {
  #waiters: Set<() => void> = new Set();
  readonly #listeners = new Set<() => void>();

  notify(): void {
    const waiters = this.#waiters;
    this.#waiters = new Set();
    for (const wake of waiters) wake();
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` at each notification until the returned function is called. `listener` must not throw. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves at the next notification; rejects with the signal's reason when that comes first. */
  next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = () => {
        this.#waiters.delete(wake);
        reject(signal.reason);
      };
      const wake = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiters.add(wake);
    });
  }

  /** Resolves at the next notification or after `ms`, whichever is first. */
  async nextOrAfter(
    ms: number,
    clock: { sleep(ms: number, signal?: AbortSignal): Promise<void> },
    signal: AbortSignal,
  ) {
    await firstOf(
      signal,
      (stop) => this.next(stop),
      (stop) => clock.sleep(ms, stop),
    );
  }
}
