import { DatabaseError, Pool, type PoolClient, type PoolConfig, type QueryResultRow, types } from "pg";
import { DomainError } from "../../base/errors.ts";
import { threadsError } from "../domain/faults.ts";

/** Runs one statement. */
export interface Queryable {
  query<R extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<{ readonly rows: R[] }>;
}

/** The address of a database: a URL, or the folder with its socket. */
export type DatabaseAddress =
  | { readonly url: string }
  | { readonly host: string; readonly port: number; readonly user: string; readonly database: string };

const POOL = 10;
const STATEMENT_MS = 5000;
const IDLE_MS = 10_000;
/** Longer than `STATEMENT_MS`, the server's own limit: a server that has not answered by then counts as unavailable. */
const ANSWER_MS = 10_000;
const INT8 = 20;
const TRIES = 4;

export interface PoolLimits {
  /** The most connections; default: 10. */
  readonly size?: number | undefined;
  /** The `application_name` of the connections; default: `threads`. */
  readonly name?: string;
  /** No time limits for statements and transactions, for long work such as a migration. */
  readonly patient?: boolean;
}

/** Opens a pool of connections that return `bigint` as numbers. Calls `onError` for each connection that breaks. */
export function openPool(
  address: DatabaseAddress,
  onError: (err: Error) => void,
  { size = POOL, name = "threads", patient = false }: PoolLimits = {},
): Pool {
  const place: PoolConfig = "url" in address ? { connectionString: address.url } : { ...address };
  const pool = new Pool({
    ...place,
    max: size,
    connectionTimeoutMillis: 5000,
    idleTimeoutMillis: 30_000,
    ...(!patient && { statement_timeout: STATEMENT_MS, query_timeout: ANSWER_MS }),
    ...(!patient && { idle_in_transaction_session_timeout: IDLE_MS }),
    keepAlive: true,
    application_name: name,
    types: {
      getTypeParser: ((oid: number, format: "text" | "binary") =>
        oid === INT8 && format !== "binary" ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
    },
  });
  pool.on("error", onError);
  // Listen while a connection is in use, too: an error without a listener would end the process.
  pool.on("connect", (client) => client.on("error", onError));
  return pool;
}

const heardOf = new WeakMap<Pool, (code: string) => void>();

/**
 * Calls `heard` for each failure of `transaction` and `statements`, with its SQLSTATE, the system's error code or
 * `other`.
 */
export function onFailures(pool: Pool, heard: (code: string) => void): void {
  heardOf.set(pool, heard);
}

function noteFailure(pool: Pool, err: unknown): void {
  if (!(err instanceof DomainError)) heardOf.get(pool)?.(stateOf(err) || "other");
}

/**
 * Runs `work` in a transaction. After a conflict with another transaction it runs `work` again, at most four times in
 * all.
 * @throws DomainError `unavailable` if the connection breaks: the transaction may or may not have been committed
 */
export async function transaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(pool, work);
    } catch (err) {
      noteFailure(pool, err);
      if (attempt >= TRIES || !isConflict(err)) throw failureOf(err);
    }
  }
}

async function once<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let isOpen = true;
  try {
    await client.query("begin");
    const result = await work(client);
    const { command } = await client.query("commit");
    isOpen = false;
    // PostgreSQL answers a commit of a failed transaction with ROLLBACK, not with an error.
    if (command !== "COMMIT") throw new Error("a transaction that had failed was to be committed");
    client.release();
    return result;
  } catch (err) {
    if (isOpen && isAnswer(err)) {
      await client.query("rollback").then(
        () => client.release(),
        (failed: Error) => client.release(failed),
      );
    } else client.release(err as Error);
    throw err;
  }
}

/** Runs each statement in a transaction of its own. @throws DomainError `unavailable` as `transaction` */
export function statements(pool: Pool): Queryable {
  return {
    query: async <R extends QueryResultRow>(text: string, values: readonly unknown[] = []) => {
      try {
        return await pool.query<R>(text, [...values]);
      } catch (err) {
        noteFailure(pool, err);
        throw failureOf(err);
      }
    },
  };
}

function stateOf(err: unknown): string {
  const code = (err as { readonly code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : "";
}

/** Whether an error is an answer of the database or comes from our own code, so that the connection is still usable. */
function isAnswer(err: unknown): boolean {
  if (err instanceof DomainError) return true;
  return err instanceof DatabaseError && !/^(08|57P)/.test(err.code ?? "");
}

function isConflict(err: unknown): boolean {
  return ["40001", "40P01", "23505"].includes(stateOf(err));
}

const NAMED: Readonly<Record<string, string>> = {
  "53100": "the database's disk is full",
  "53200": "the database has no memory left",
  "53300": "the database has no connection left",
  "25006": "the database is read-only",
  "57014": "the database took too long",
  "55P03": "the database took too long for a lock",
  "42P01": "the database has no schema of this version: run threads migrate",
  "3F000": "the database has no schema of this version: run threads migrate",
  "28P01": "the database refused the password",
  "28000": "the database refused the user",
  "42501": "the database user lacks a privilege",
  "3D000": "there is no such database",
};

/** Maps a failure of the database to a DomainError `unavailable`. Returns bugs unchanged. */
export function failureOf(err: unknown): unknown {
  if (err instanceof DomainError) return err;
  const state = stateOf(err);
  const named = NAMED[state];
  if (named !== undefined) return unavailable(named, state, err);
  const isNetwork = /^E[A-Z]+$/.test(state) || /^(08|57P|53|58|XX)/.test(state);
  const text = err instanceof Error ? err.message : "";
  if (isNetwork || /terminat|timeout|timed out|closed|not queryable/i.test(text)) {
    return unavailable("the database cannot be reached", state, err);
  }
  return err;
}

function unavailable(message: string, state: string, cause: unknown): DomainError {
  return threadsError("UNAVAILABLE", message, state === "" ? {} : { database: state }, cause);
}
