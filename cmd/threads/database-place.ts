import type { Pool } from "pg";
import type { Clock } from "../../internal/base/clock.ts";
import { DomainError } from "../../internal/base/errors.ts";
import type { Logger } from "../../internal/base/logger.ts";
import type { Task } from "../../internal/base/task-group.ts";
import { PostgresServer } from "../../internal/threads/postgres/postgres-server.ts";
import { type DatabaseAddress, failureOf, openPool, type PoolLimits } from "../../internal/threads/store/database.ts";
import type { CommonSettings } from "./config.ts";

const OLDEST = 150_000;

/** The configured database, or a private one. */
export interface DatabasePlace {
  /** Runs the private server; undefined: a database is configured. */
  readonly task: Task | undefined;
  /** Resolves once a private server accepts connections; immediately for a configured database. */
  readonly address: Promise<DatabaseAddress>;
}

export function databasePlace(
  { stateDir, databaseUrl, postgres, env }: CommonSettings,
  deps: { readonly clock: Clock; readonly logger: Logger },
): DatabasePlace {
  if (databaseUrl !== undefined) return { task: undefined, address: Promise.resolve({ url: databaseUrl }) };
  const server = new PostgresServer(deps, { stateDir, env, from: postgres });
  const address = server.ready.then(({ host, port, user, database }) => ({ host, port, user, database }));
  address.catch(() => {}); // `task` throws the same
  return { task: server, address };
}

/**
 * Calls `use` with a pool and closes it afterwards.
 * @throws DomainError `unavailable` if the database cannot be used, or its connection breaks while it is in use
 */
export async function withPool<T>(
  address: DatabaseAddress,
  logger: Logger,
  limits: PoolLimits,
  use: (pool: Pool) => Promise<T>,
): Promise<T> {
  const pool = await openDatabase(address, logger, limits);
  try {
    return await use(pool);
  } catch (err) {
    throw failureOf(err);
  } finally {
    await pool.end();
  }
}

/**
 * Opens a pool, after checking that the database answers and is PostgreSQL 15 or newer.
 * @throws DomainError `unavailable` (`problem`: `database`)
 */
export async function openDatabase(address: DatabaseAddress, logger: Logger, limits?: PoolLimits): Promise<Pool> {
  const pool = openPool(address, (err) => logger.warn({ err }, "a connection to the database broke"), limits);
  try {
    const { rows } = await pool.query<{ server_version_num: string }>("show server_version_num");
    if (Number(rows[0]?.server_version_num) >= OLDEST) return pool;
    throw new DomainError("unavailable", "the database is older than PostgreSQL 15", {
      fields: { problem: "database" },
    });
  } catch (err) {
    await pool.end().catch(() => {});
    const known = failureOf(err);
    if (!(known instanceof DomainError)) throw known;
    const fields = { hint: "threads doctor looks at it", ...known.fields, problem: "database" };
    throw new DomainError(known.kind, known.message, { fields, cause: err });
  }
}
