import { Kysely, PostgresDialect, sql } from "kysely";
import { Migrator } from "kysely/migration";
import { Pool } from "pg";
import { expect, it } from "vitest";
import { DEFAULT_POLICY } from "../../internal/threads/domain/policy.ts";
import { PgStore } from "../../internal/threads/store/pg-store.ts";
import { SCHEMA_1 } from "../../internal/threads/store/schema.ts";
import { runProgramOf } from "../support/threads/run-threads.ts";
import { TestDatabase } from "../support/threads/test-database.ts";

/** A database as the previous version left it: a message that was read and not acknowledged, and a failed wake. */
async function former(database: TestDatabase): Promise<void> {
  const db = new Kysely<unknown>({
    dialect: new PostgresDialect({ pool: new Pool({ connectionString: database.url(), max: 1 }) }),
  });
  const first = { up: async (to: Kysely<unknown>) => void (await sql.raw(SCHEMA_1).execute(to)) };
  await sql`create schema threads`.execute(db);
  const provider = { getMigrations: async () => ({ "0001": first }) };
  const { error } = await new Migrator({ db, provider, migrationTableSchema: "threads" }).migrateToLatest();
  await db.destroy();
  if (error !== undefined) throw error;
  for (const statement of [
    "insert into threads.thread (workspace_id, thread_id, title, created_by, last_seq) values ('w', 't-1', 'work', 'lead', 1)",
    "insert into threads.participant (workspace_id, thread_id, agent_id, read_seq) values ('w', 't-1', 'a', 1)",
    "insert into threads.wake (workspace_id, wake_id, agent_id, state, due_at) values ('w', 'x', 'a', 'FAILED', now())",
  ]) {
    await database.query(statement);
  }
}

it("a database of the version before is refused until it is migrated, and keeps what it holds", async () => {
  await using database = await TestDatabase.start();
  await former(database);
  const threads = (...args: string[]) => runProgramOf("threads", [...args, "--database-url", database.url()]);
  const refused = await threads("serve", "--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0");
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining("run: threads migrate")]);
  const migrated = await threads("migrate");
  expect([migrated.code, migrated.stderr]).toEqual([0, ""]);
  const pool = new Pool({ connectionString: database.url(), max: 1 });
  try {
    const store = new PgStore(pool, DEFAULT_POLICY, () => performance.now());
    const [participant] = await store.reads("w").participants("t-1");
    expect(participant).toMatchObject({ agentId: "a", readSeq: 1 });
    expect(participant?.againSeq).toBeUndefined();
    // A wake that ended earlier is no news.
    expect(await store.reads("w").wake("x")).toMatchObject({ state: "FAILED", news: [] });
    expect(await store.wakesWithNews(10)).toEqual([]);
  } finally {
    await pool.end();
  }
  expect((await threads("migrate")).code).toBe(0);
}, 200_000);
