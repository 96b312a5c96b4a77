import { Kysely, PostgresDialect, sql } from "kysely";
import { type Migration, type MigrationProvider, Migrator } from "kysely/migration";
import type { Pool } from "pg";
import { DomainError } from "../../base/errors.ts";
import { failureOf, statements } from "./database.ts";
import { SCHEMA_1, SCHEMA_2, SCHEMA_3 } from "./schema.ts";

/** Migrations by name, oldest first. A name never changes. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  "0001": {
    up: async (db) => {
      await sql.raw(SCHEMA_1).execute(db);
    },
  },
  "0002": {
    up: async (db) => {
      await sql.raw(SCHEMA_2).execute(db);
    },
  },
  "0003": {
    up: async (db) => {
      await sql.raw(SCHEMA_3).execute(db);
    },
  },
};

/** The newest migration, which this version of `threads` needs. */
const NEWEST = Object.keys(MIGRATIONS).sort().at(-1) ?? "";

const provider: MigrationProvider = { getMigrations: async () => ({ ...MIGRATIONS }) };

/**
 * Migrates the schema to this version. Returns the names of the migrations that it ran. Needs a direct connection,
 * since its lock belongs to the session.
 * @throws DomainError `precondition` (`problem`: `schema`) for a schema of a newer version; `unavailable` if the
 * database cannot be used
 */
export async function migrate(pool: Pool): Promise<readonly string[]> {
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  try {
    await sql`create schema if not exists threads`.execute(db);
    const state = await schemaState(pool);
    if (state.type === "newer") throw newerSchema(state.name);
    const migrator = new Migrator({ db, provider, migrationTableSchema: "threads" });
    const { error, results = [] } = await migrator.migrateToLatest();
    if (error !== undefined) throw error;
    return results.map((one) => one.migrationName);
  } catch (err) {
    throw failureOf(err);
  }
}

export type SchemaState =
  | { readonly type: "current"; readonly name: string }
  | { readonly type: "missing" }
  | { readonly type: "older"; readonly name: string }
  | { readonly type: "newer"; readonly name: string };

/**
 * Compares the database's schema with the one that this version needs.
 * @throws DomainError `unavailable` if the database cannot be used
 */
export async function schemaState(pool: Pool): Promise<SchemaState> {
  const db = statements(pool);
  const there = await db.query<{ there: string | null }>("select to_regclass('threads.kysely_migration') as there");
  if (there.rows[0]?.there == null) return { type: "missing" };
  const done = await db.query<{ name: string | null }>("select max(name) as name from threads.kysely_migration");
  const name = done.rows[0]?.name;
  if (name == null) return { type: "missing" };
  if (name === NEWEST) return { type: "current", name };
  return name < NEWEST ? { type: "older", name } : { type: "newer", name };
}

/**
 * Checks the schema.
 * @throws DomainError `precondition` (`problem`: `schema`) unless it is this version's; `unavailable` if the database
 * cannot be used
 */
export async function checkSchema(pool: Pool): Promise<void> {
  const state = await schemaState(pool);
  if (state.type === "current") return;
  if (state.type === "newer") throw newerSchema(state.name);
  throw new DomainError("precondition", "the database has no schema of this version of threads", {
    fields: { problem: "schema", hint: "run: threads migrate" },
  });
}

function newerSchema(name: string): DomainError {
  return new DomainError("precondition", `the database has the schema ${name}, which is newer than this threads`, {
    fields: { problem: "schema", hint: "use the version of threads that migrated it" },
  });
}
