import type { Clock } from "../../internal/base/clock.ts";
import type { Logger } from "../../internal/base/logger.ts";
import { runningPostgres } from "../../internal/threads/postgres/places.ts";
import type { DatabaseAddress } from "../../internal/threads/store/database.ts";
import type { CommonSettings } from "./config.ts";
import { databasePlace } from "./database-place.ts";

/**
 * Like `withDatabase`, but uses the private database of a running server, which cannot be started a second time.
 * @throws as `withDatabase`
 */
export async function withAnyDatabase<T>(
  place: CommonSettings,
  deps: Parameters<typeof withDatabase>[1],
  use: (address: DatabaseAddress) => Promise<T>,
): Promise<T> {
  const running = place.databaseUrl === undefined ? runningPostgres(place.stateDir) : undefined;
  return running === undefined ? await withDatabase(place, deps, use) : await use(running);
}

/** Runs `use` with the database; a private one is started before and stopped after. @throws as `PostgresServer.run` */
export async function withDatabase<T>(
  place: CommonSettings,
  { clock, logger, signal }: { readonly clock: Clock; readonly logger: Logger; readonly signal: AbortSignal },
  use: (address: DatabaseAddress) => Promise<T>,
): Promise<T> {
  const { task, address } = databasePlace(place, { clock, logger });
  if (task === undefined) return await use(await address);
  const done = new AbortController();
  const running = task.run(AbortSignal.any([signal, done.signal]));
  try {
    return await Promise.race([address.then(use), running.then(() => Promise.reject(signal.reason))]);
  } finally {
    done.abort();
    await running.catch(() => {});
  }
}
