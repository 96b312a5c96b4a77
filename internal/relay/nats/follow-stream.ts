import { systemClock } from "../../base/clock.ts";
import type { Bus } from "./bus.ts";
import { type ReadMessage, type ReadOptions, readStream } from "./stream-reader.ts";

const EVERY_MS = 200;

/**
 * Yields the stored messages of a subject from a sequence on, then new ones, until the signal. Polls the stream.
 * @throws Error if the server does not answer in time
 */
export async function* followStream(
  bus: Bus,
  options: ReadOptions & { readonly from: number },
  signal: AbortSignal,
): AsyncGenerator<ReadMessage> {
  let { from } = options;
  while (!signal.aborted) {
    for (const message of await readStream(bus, { ...options, from })) {
      yield message;
      from = message.seq + 1;
    }
    await systemClock.sleep(EVERY_MS, signal).catch(() => {});
  }
}
