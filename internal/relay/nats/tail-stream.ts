import type { Clock } from "../../base/clock.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Bus } from "./bus.ts";
import { type ReadMessage, type ReadOptions, readAll } from "./stream-reader.ts";

const FIRST_WAIT_MS = 20;
const MOST_WAIT_MS = 2000;

/**
 * Messages of a subject from a sequence on, each once and in order, and those that come, until the signal. A message
 * that passes by on the subject only says that it is time to look into the stream.
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
      // A server that is away answers later; nothing is lost meanwhile.
      const found = await readAll(bus, { ...options, from }).catch((): readonly ReadMessage[] => []);
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
