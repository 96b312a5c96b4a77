import { type Backend, forwardCalls } from "./backend.ts";
import type { QuickSidecar } from "./quick-sidecar.ts";

/**
 * A sidecar that most callers only peek at. A peek and an identity query go the quick way; if that fails, they are
 * repeated through the full backend, which can explain the failure. `open` creates the full one when it is first
 * needed.
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
    ...forwardCalls(full),
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
