import { isatty } from "node:tty";
import type { Clock } from "../../internal/base/clock.ts";
import { DomainError } from "../../internal/base/errors.ts";

const STDIN = 0;
const LOOK_EVERY_MS = 2000;

/**
 * Runs `use` until it ends, and aborts its signal when the terminal on standard input is gone: a process in its own
 * session gets no SIGHUP. Does not read from the terminal, because reading would stop a program that runs in the
 * background.
 */
export async function whileTerminal<T>(
  clock: Clock,
  signal: AbortSignal,
  use: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (!isatty(STDIN)) return await use(signal);
  const over = new AbortController();
  const gone = new AbortController();
  const looking = untilGone(clock, AbortSignal.any([signal, over.signal])).then(
    () => gone.abort(new DomainError("cancelled", "the terminal is gone")),
    () => {}, // asked to stop
  );
  try {
    return await use(AbortSignal.any([signal, gone.signal]));
  } finally {
    over.abort();
    await looking;
  }
}

/** @throws the signal's reason */
async function untilGone(clock: Clock, signal: AbortSignal): Promise<void> {
  while (isatty(STDIN)) await clock.sleep(LOOK_EVERY_MS, signal);
}
