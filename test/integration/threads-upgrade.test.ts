import { Kysely, PostgresDialect, sql } from "kysely";
import { Migrator } from "kysely/migration";
import { Pool } from "pg";
import { expect, it } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { DEFAULT_POLICY } from "../../internal/threads/domain/policy.ts";
import type { Principal } from "../../internal/threads/domain/types.ts";
import { postMessage } from "../../internal/threads/service/post.ts";
import { PostLimiter } from "../../internal/threads/service/post-limiter.ts";
import { PgStore } from "../../internal/threads/store/pg-store.ts";
import { SCHEMA_1 } from "../../internal/threads/store/schema.ts";
import { runProgramOf } from "../support/threads/run-threads.ts";
import { TestDatabase } from "../support/threads/test-database.ts";
import { startThread, ThreadsServer } from "../support/threads/threads-server.ts";

const LONG = AbortSignal.timeout(600_000);
const POSTS = 60;
/** Like each migration, it only adds. */
const NEXT_VERSION = [
  "alter table threads.message add column of_next text not null default ''",
  "create table threads.of_next (workspace_id text not null, said text not null)",
  "insert into threads.kysely_migration (name, timestamp) values ('9999', now()::text)",
];

/** A database as the first version left it: a participant that has read but not acknowledged, and a failed wake. */
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

it("a database of an earlier version is refused until it is migrated, and keeps its contents", async () => {
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
    // A wake that ended earlier does not count as news.
    expect(await store.reads("w").wake("x")).toMatchObject({ state: "FAILED", news: [] });
    expect(await store.wakesWithNews(10)).toEqual([]);
  } finally {
    await pool.end();
  }
  expect((await threads("migrate")).code).toBe(0);
}, 200_000);

it("F19: servers continue while their database is migrated, and both versions write", async () => {
  await using database = await TestDatabase.start();
  const at = ["--database-url", database.url()];
  expect((await runProgramOf("threads", ["migrate", ...at])).code).toBe(0);
  await using server = await ThreadsServer.start(...at, "--runtime", "none");
  using person = server.client("tester", "operator");
  await person.call("set_policy", { policy: { turns: 1000, runaway_per_hour: 1000, posts_per_minute: 1000 } }, LONG);
  const thread_id = await startThread(person, "upgrade", ["town/old", "town/new"], LONG);
  const pool = new Pool({ connectionString: database.url(), max: 4 });
  const monotonicMs = () => systemClock.monotonicMs();
  const store = new PgStore(pool, DEFAULT_POLICY, monotonicMs);
  const changes = { publish: () => {}, subscribe: () => ({ [Symbol.dispose]: () => {} }) };
  const next = { store, changes, limiter: new PostLimiter(monotonicMs), clock: systemClock };
  const who = { workspace: "default", agent: "town/new", role: "worker", kind: "agent", session: "s-new" } as const;
  const caller: Principal = { ...who, expiresAt: 0, correlationId: "test" };
  using old = server.client("town/old");
  const byOld = async (times: number) => {
    for (let one = 0; one < times; one++) await old.call("post_message", { thread_id, text: `old ${one}` }, LONG);
  };
  const byNext = async (times: number) => {
    for (let one = 0; one < times; one++) {
      const { message_id } = await postMessage(next, caller, { thread_id, text: `new ${one}` });
      await pool.query("update threads.message set of_next = 'new' where message_id = $1", [message_id]);
      await pool.query("insert into threads.of_next values ('default', $1)", [message_id]);
    }
  };
  try {
    const before = byOld(POSTS);
    for (const statement of NEXT_VERSION) await database.query(statement);
    await Promise.all([before, byNext(POSTS), byOld(POSTS)]);
  } finally {
    await pool.end();
  }
  const seqs = await database.query<{ seq: string }>(
    "select seq from threads.message where kind = 'chat' order by seq",
  );
  expect(seqs.map(({ seq }) => Number(seq))).toEqual(Array.from({ length: 3 * POSTS }, (_, at) => at + 1));
  using reader = server.client("town/reader", "auditor");
  const page = { thread_id, after_seq: 2 * POSTS, limit: 200 };
  expect(await reader.call("read_messages", page, LONG)).toMatchObject({ last_seq: 3 * POSTS });
  expect(await person.call("verify_audit", {}, LONG)).toMatchObject({ ok: true });
  expect((await fetch(`${server.healthUrl}/readyz`)).status).toBe(200);
  await server.end();
  const again = await runProgramOf("threads", ["serve", ...at, "--listen", "127.0.0.1:0"]);
  expect([again.code, again.stderr]).toEqual([3, expect.stringContaining("newer than this threads")]);
}, 200_000);
