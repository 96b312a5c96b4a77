import type { Backend } from "./backend.ts";
import type { QuickSidecar } from "./quick-sidecar.ts";

/**
 * A sidecar of which only a peek is wanted, most likely: that is asked the quick way, and again by the full backend
 * where the quick way fails, so that the failure is told as always. `open` makes the full one when it is needed first.
 */
export function quickBackend(where: string, quick: QuickSidecar, open: () => Promise<Backend>): Backend {
  let opened: Promise<Backend> | undefined;
  const full = () => {
    opened ??= open();
    return opened;
  };
  const orFull = <T>(signal: AbortSignal, fast: () => Promise<T>, slow: (backend: Backend) => Promise<T>) =>
    fast().catch(async (err: unknown) => {
      if (signal.aborted) throw err;
      return await slow(await full());
    });
  return {
    where,
    peek: (request, signal) =>
      orFull(
        signal,
        () => quick.peek(request, signal),
        (backend) => backend.peek(request, signal),
      ),
    identity: (signal) =>
      orFull(
        signal,
        () => quick.identity(signal),
        (backend) => backend.status(signal),
      ),
    nudge: async (...given) => (await full()).nudge(...given),
    getNudge: async (...given) => (await full()).getNudge(...given),
    cancelNudge: async (...given) => (await full()).cancelNudge(...given),
    respond: async (...given) => (await full()).respond(...given),
    sendKeys: async (...given) => (await full()).sendKeys(...given),
    stop: async (...given) => (await full()).stop(...given),
    status: async (signal) => (await full()).status(signal),
    async *watch(...given) {
      yield* (await full()).watch(...given);
    },
    async *attach(...given) {
      yield* (await full()).attach(...given);
    },
    async [Symbol.asyncDispose]() {
      quick[Symbol.dispose]();
      await (await opened?.catch(() => undefined))?.[Symbol.asyncDispose]();
    },
  };
}
