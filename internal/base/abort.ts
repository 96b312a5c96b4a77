import type { Clock } from "./clock.ts";
import { DomainError } from "./errors.ts";

/** Settles like `promise`, or rejects with the signal's reason if that comes first. Leaves no listener behind. */
export async function raceSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Settles like the first of several waits to settle. Each wait gets a signal that is aborted when the first has settled
 * or `signal` is aborted, so that the others leave no timer or listener behind. Rejections of the others are dropped.
 */
export function firstOf<T extends readonly unknown[]>(
  signal: AbortSignal | undefined,
  ...waits: { readonly [K in keyof T]: (stop: AbortSignal) => Promise<T[K]> }
): Promise<T[number]> {
  const settled = new AbortController();
  const stop = signal === undefined ? settled.signal : AbortSignal.any([signal, settled.signal]);
  const first = Promise.race(waits.map((wait) => wait(stop)));
  const end = () => settled.abort();
  first.then(end, end);
  return first;
}

/**
 * Settles like `promise`, or with undefined after `ms` or when the signal is aborted. The promise itself continues; a
 * later rejection is dropped.
 */
export async function within<T>(
  clock: Clock,
  ms: number,
  promise: Promise<T>,
  signal?: AbortSignal,
): Promise<T | undefined> {
  return await firstOf(
    signal,
    () => promise,
    (stop) => clock.sleep(ms, stop).catch(() => {}) as Promise<undefined>,
  );
}

/**
 * Settles like `promise`, or rejects with a `deadline` error naming `what` after `ms`. The promise itself continues:
 * pass a signal to whatever must stop.
 */
export async function withTimeout<T>(clock: Clock, ms: number, what: string, promise: Promise<T>): Promise<T> {
  const expired = async (stop: AbortSignal) => {
    await clock.sleep(ms, stop);
    throw new DomainError("deadline", `${what} took longer than ${ms} ms`, { fields: { timeout_ms: ms } });
  };
  return await firstOf(undefined, () => promise, expired);
}

/** `withTimeout` around a call whose own signal is aborted at the time-out or when `signal` is aborted. */
export async function timedCall<T>(
  clock: Clock,
  limit: { readonly ms: number; readonly what: string },
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const left = new AbortController();
  try {
    return await withTimeout(clock, limit.ms, limit.what, call(AbortSignal.any([signal, left.signal])));
  } finally {
    left.abort(new DomainError("cancelled", `nobody waits for ${limit.what}`));
  }
}

/** A promise that resolves (never rejects) when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Runs `step` again and again until the signal is aborted. Throws a step's failure, unless the abort caused it. */
export async function untilAborted(signal: AbortSignal, step: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    try {
      await step();
    } catch (err) {
      if (!signal.aborted) throw err;
    }
  }
}
