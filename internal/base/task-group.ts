/** Anything long-lived: `run` resolves once it no longer owns a timer, socket or child. */
export interface Task {
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Runs tasks side by side until `signal` is aborted or one of them ends. Then the others are asked to stop, all are
 * waited for, and the first failure is thrown. A task that rejects with the reason of the abort has not failed.
 */
export async function runTasks(signal: AbortSignal, tasks: readonly Task[]): Promise<void> {
  const stop = new AbortController();
  const all = AbortSignal.any([signal, stop.signal]);
  let failure: { readonly err: unknown } | undefined;
  await Promise.all(
    tasks.map(async (task) => {
      try {
        await task.run(all);
      } catch (err) {
        if (!all.aborted || err !== all.reason) failure ??= { err };
      } finally {
        stop.abort(new Error("another task ended"));
      }
    }),
  );
  if (failure) throw failure.err;
}
