import type { Pool } from "pg";
import type { Policy } from "../domain/policy.ts";
import type { Reads, Store, Tx } from "../domain/store.ts";
import type { Principal } from "../domain/types.ts";
import { statements, transaction } from "./database.ts";
import { PgReads } from "./reads.ts";
import { PgTx } from "./tx.ts";

const SEEN_AGAIN_MS = 60_000;
const MAX_SEEN = 10_000;

/** Threads in PostgreSQL. */
export class PgStore implements Store {
  readonly #pool: Pool;
  readonly #defaults: Policy;
  readonly #monotonicMs: () => number;
  readonly #seen = new Map<string, number>();

  /** `defaults`: the policy of a workspace that has set nothing. */
  constructor(pool: Pool, defaults: Policy, monotonicMs: () => number) {
    this.#pool = pool;
    this.#defaults = defaults;
    this.#monotonicMs = monotonicMs;
  }

  reads(workspace: string): Reads {
    return new PgReads(statements(this.#pool), workspace, this.#defaults);
  }

  write<T>(workspace: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return transaction(this.#pool, (client) => {
      const db = { query: client.query.bind(client) as never };
      return work(new PgTx(db, workspace, this.#defaults));
    });
  }

  async seen({ workspace, agent, kind, role, session }: Principal): Promise<void> {
    const key = JSON.stringify([workspace, agent, kind, role, session]);
    const now = this.#monotonicMs();
    if ((this.#seen.get(key) ?? Number.NEGATIVE_INFINITY) > now - SEEN_AGAIN_MS) return;
    const db = statements(this.#pool);
    await db.query(
      `insert into threads.agent (workspace_id, agent_id, kind, role, seen_at) values ($1, $2, $3, $4, clock_timestamp())
       on conflict (workspace_id, agent_id) do update set kind = excluded.kind, role = excluded.role, seen_at = excluded.seen_at`,
      [workspace, agent, kind, role],
    );
    await db.query(
      `insert into threads.session (workspace_id, session_id, agent_id, last_heartbeat_at) values ($1, $2, $3, clock_timestamp())
       on conflict (workspace_id, session_id) do update set last_heartbeat_at = clock_timestamp()`,
      [workspace, session, agent],
    );
    this.#seen.delete(key);
    this.#seen.set(key, now);
    for (const [oldest] of this.#seen) {
      if (this.#seen.size <= MAX_SEEN) break;
      this.#seen.delete(oldest);
    }
  }

  async conversation({ workspace, agent, session }: Principal, agentSessionId: string): Promise<void> {
    await statements(this.#pool).query(
      `update threads.session set agent_session_id = $4
       where workspace_id = $1 and session_id = $2 and agent_id = $3 and not managed and agent_session_id <> $4`,
      [workspace, session, agent, agentSessionId],
    );
  }

  async overdueEscalations(limit: number) {
    const { rows } = await statements(this.#pool).query<{
      workspace_id: string;
      thread_id: string;
      escalation_id: string;
    }>(
      `select workspace_id, thread_id, escalation_id from threads.escalation
       where state = 'open' and not overdue and due_at <= clock_timestamp() order by due_at limit $1`,
      [limit],
    );
    return rows.map((row) => ({
      ...{ workspace: row.workspace_id, threadId: row.thread_id, escalationId: row.escalation_id },
    }));
  }

  async wakesWithNews(limit: number) {
    const { rows } = await statements(this.#pool).query<{ workspace_id: string; wake_id: string }>(
      "select workspace_id, wake_id from threads.wake where news <> '{}' order by created_at limit $1",
      [limit],
    );
    return rows.map((row) => ({ workspace: row.workspace_id, wakeId: row.wake_id }));
  }

  async unshown(limit: number) {
    const { rows } = await statements(this.#pool).query<{ workspace_id: string; thread_id: string; agent_id: string }>(
      "select workspace_id, thread_id, agent_id from threads.participant where reminders = 3 limit $1",
      [limit],
    );
    return rows.map((row) => ({ workspace: row.workspace_id, threadId: row.thread_id, agentId: row.agent_id }));
  }

  async closedThreads(limit: number) {
    const { rows } = await statements(this.#pool).query<{ workspace_id: string; thread_id: string }>(
      `select t.workspace_id, t.thread_id from threads.thread t
       where t.status = 'closed' and exists (select from threads.message m
         where m.workspace_id = t.workspace_id and m.thread_id = t.thread_id and m.erased_at is null
           and m.created_at < t.updated_at)
       order by t.updated_at limit $1`,
      [limit],
    );
    return rows.map((row) => ({ workspace: row.workspace_id, threadId: row.thread_id }));
  }

  async revoked(): Promise<ReadonlySet<string>> {
    const { rows } = await statements(this.#pool).query<{ workspace_id: string; kind: string; value: string }>(
      "select workspace_id, kind, value from threads.revoked where until > clock_timestamp()",
    );
    return new Set(rows.map((row) => `${row.workspace_id} ${row.kind} ${row.value}`));
  }
}
