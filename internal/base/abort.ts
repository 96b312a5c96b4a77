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
 * Settles like the first of several waits that settles. Each is given a signal that is aborted then, and with `signal`:
 * the others leave no timer or listener behind, and what they reject with is dropped.
 */
export async function firstOf<T extends readonly unknown[]>(
  signal: AbortSignal | undefined,
  ...waits: { readonly [K in keyof T]: (stop: AbortSignal) => Promise<T[K]> }
): Promise<T[number]> {
  const settled = new AbortController();
  const stop = signal === undefined ? settled.signal : AbortSignal.any([signal, settled.signal]);
  const started = waits.map((wait) => wait(stop));
  try {
    return await Promise.race(started);
  } finally {
    for (const one of started) one.catch(() => {});
    settled.abort();
  }
}

/**
 * Settles like `promise`, or with undefined after `ms` or when the signal is aborted. The promise itself continues;
 * what it rejects with afterwards is dropped.
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

/** `withTimeout` around a call that ends when nobody waits for it any more, because of its time or of the signal. */
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

/**
 * One step after the other until the signal is aborted. A step's failure is thrown, unless it is the abort that made it
 * fail.
 */
export async function untilAborted(signal: AbortSignal, step: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    try {
      await step();
    } catch (err) {
      if (!signal.aborted) throw err;
    }
  }
}
