/**
 * Blocks this thread's event loop as a busy machine may: until a timer of `dueMs` is due, and, once the timer's data is
 * sent, for `ms`, so that shorter timers are due before the answer is read.
 */
export async function holdUpTwice(dueMs: number, ms: number): Promise<void> {
  holdUp(dueMs);
  // The first immediate runs before the timers, the second after them.
  await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
  holdUp(ms);
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setTimeout(resolve, 1));
}

function holdUp(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}
