/** Time as a dependency, so that back-off, idle detection and time-outs are tested without sleeping. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. May jump. */
  now(): number;
  /** Monotonic milliseconds from an arbitrary start, for measuring durations. */
  monotonicMs(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. Keeps no timer after that. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: sleeper({ keepsRunning: true }),
};

/** The system's time, with waits that do not keep a program running. */
export const backgroundClock: Clock = { ...systemClock, sleep: sleeper({ keepsRunning: false }) };

/** The longest wait of a timer; a longer one would end at once. */
const TIMER_LIMIT_MS = 2 ** 31 - 1;

function sleeper({ keepsRunning }: { readonly keepsRunning: boolean }): Clock["sleep"] {
  return (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const wait = (leftMs: number): NodeJS.Timeout => {
        const partMs = Math.min(leftMs, TIMER_LIMIT_MS);
        const made = setTimeout(() => {
          if (leftMs > partMs) {
            timer = wait(leftMs - partMs);
            return;
          }
          signal?.removeEventListener("abort", onAbort);
          resolve();
        }, partMs);
        if (!keepsRunning) made.unref();
        return made;
      };
      let timer = wait(ms);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
}
