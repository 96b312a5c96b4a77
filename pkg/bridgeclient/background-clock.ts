import { type Clock, systemClock } from "../../internal/base/clock.ts";

/** The system's time, with waits that do not keep a program running. */
export const backgroundClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, ms).unref();
      signal?.addEventListener("abort", onAbort, { once: true });
    }),
};
