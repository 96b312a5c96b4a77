/**
 * Measures, until it is disposed of, how long this thread computes at most without letting a timer in: what other work
 * of the process would have to wait for. Time that other processes take away does not count.
 */
export class LongestTurn implements Disposable {
  #ms = 0;
  #last = threadCpuMs();
  #timer: NodeJS.Timeout;

  constructor() {
    const look = () => {
      const now = threadCpuMs();
      this.#ms = Math.max(this.#ms, now - this.#last);
      this.#last = now;
      this.#timer = setTimeout(look, 1);
    };
    this.#timer = setTimeout(look, 1);
  }

  /** The longest so far, in milliseconds of processor time. */
  get ms(): number {
    return Math.max(this.#ms, threadCpuMs() - this.#last);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
