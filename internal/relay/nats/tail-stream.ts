import type { Clock } from "../../base/clock.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Bus } from "./bus.ts";
import { type ReadMessage, type ReadOptions, readStream } from "./stream-reader.ts";

const FIRST_WAIT_MS = 20;
const MOST_WAIT_MS = 2000;

/**
 * Yields the stored messages of a subject from a sequence on, then new ones, each once and in order, until the signal.
 * A live message on the subject only triggers a read of the stream.
 */
export async function* tailStream(
  { bus, clock }: { readonly bus: Bus; readonly clock: Clock },
  options: ReadOptions & { readonly from: number },
  signal: AbortSignal,
): AsyncGenerator<ReadMessage> {
  const passing = new SignalBus();
  let { from } = options;
  let waitMs = FIRST_WAIT_MS;
  const subscription = bus.nc.subscribe(options.subject, {
    callback: () => {
      waitMs = FIRST_WAIT_MS;
      passing.notify();
    },
  });
  try {
    while (!signal.aborted) {
      // If the server is away, a later read finds the same messages.
      const found = await readStream(bus, { ...options, from }).catch((): readonly ReadMessage[] => []);
      for (const message of found) {
        yield message;
        from = message.seq + 1;
      }
      if (found.length > 0) continue;
      const wait = passing.nextOrAfter(waitMs, clock, signal);
      waitMs = Math.min(2 * waitMs, MOST_WAIT_MS);
      await wait.catch(() => {});
    }
  } finally {
    subscription.unsubscribe();
  }
}
