/** Answers that callers wait for, by a key that the answer contains. */
export class Waiters<T> {
  readonly #waiting = new Map<string, PromiseWithResolvers<T>>();

  /**
   * Rejects with the signal's reason if the signal is aborted first. A second wait for the same key replaces the first.
   */
  wait(key: string, signal: AbortSignal): Promise<T> {
    const waiter = Promise.withResolvers<T>();
    const leave = () => {
      if (this.#waiting.get(key) === waiter) this.#waiting.delete(key);
      waiter.reject(signal.reason);
    };
    waiter.promise.catch(() => {});
    if (signal.aborted) leave();
    else {
      this.#waiting.set(key, waiter);
      signal.addEventListener("abort", leave, { once: true });
      const forget = () => signal.removeEventListener("abort", leave);
      waiter.promise.then(forget, forget);
    }
    return waiter.promise;
  }

  /** Returns false if no caller waits for the key. */
  resolve(key: string, value: T): boolean {
    const waiter = this.#take(key);
    waiter?.resolve(value);
    return waiter !== undefined;
  }

  /** Returns false if no caller waits for the key. */
  reject(key: string, err: Error): boolean {
    const waiter = this.#take(key);
    waiter?.reject(err);
    return waiter !== undefined;
  }

  #take(key: string): PromiseWithResolvers<T> | undefined {
    const waiter = this.#waiting.get(key);
    this.#waiting.delete(key);
    return waiter;
  }
}
