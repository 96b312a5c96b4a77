/** Time as a dependency, so that back-off, idle detection and time-outs are tested without sleeping. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. May jump. */
  now(): number;
  /** Monotonic milliseconds from an arbitrary start, for measuring durations. */
  monotonicMs(): number;
  /**
   * Resolves after `ms`; rejects with the signal's reason if the signal is aborted first. Keeps no timer after that.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: sleeper({ keepsRunning: true }),
};

/** The system's time, with waits that do not keep a program running. */
export const backgroundClock: Clock = { ...systemClock, sleep: sleeper({ keepsRunning: false }) };

/** Time to read what has arrived. */
const READ_MS = 50;

/**
 * Returns `clock` with sleeps that take 50 ms longer, for waits for an answer whose absence ends a connection. A
 * process that was held up, e.g. by others on a busy machine, runs its timers before it reads: the extra time lets it
 * read what has arrived.
 */
export function readingClock(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    async sleep(ms, signal) {
      await clock.sleep(ms, signal);
      await clock.sleep(READ_MS, signal);
    },
  };
}

/** Node's timers take at most 2³¹ ms, some 24 days; a longer one would fire at once. */
const LONGEST_MS = 2e9;

function sleeper({ keepsRunning }: { readonly keepsRunning: boolean }): Clock["sleep"] {
  return (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let left = Math.max(ms, 1);
      let timer: NodeJS.Timeout;
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const tick = () => {
        if (left > 0) {
          timer = setTimeout(tick, Math.min(left, LONGEST_MS));
          left -= LONGEST_MS;
          if (!keepsRunning) timer.unref();
        } else {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        }
      };
      tick();
      signal?.addEventListener("abort", onAbort, { once: true });
    });
}
