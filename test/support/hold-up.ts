/**
 * Blocks this thread's event loop twice, as a busy machine may: for `dueMs`, so that a timer of that length fires next,
 * e.g. to send a PING; then for `ms`, so that a shorter timer for the answer is due before the answer has been read.
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
