import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import { linuxChildren } from "./linux-children.ts";
import { Reaper } from "./reaper.ts";

/** Runs `work` and meanwhile reaps orphans, as the first process of a container must. */
export async function asFirstProcess(
  deps: { readonly clock: Clock; readonly logger: Logger },
  work: () => Promise<void>,
) {
  const { clock, logger } = deps;
  const stop = new AbortController();
  const reaping = reap(clock, stop.signal).catch((err: unknown) => {
    logger.error({ err }, "cannot reap orphans: they stay until the container ends");
  });
  try {
    await work();
  } finally {
    stop.abort();
    await reaping;
  }
}

async function reap(clock: Clock, signal: AbortSignal): Promise<void> {
  await new Reaper(clock, await linuxChildren()).run(signal);
}
