import { type Policy, policyOf } from "../domain/policy.ts";
import type {
  ChainReport,
  ListedThread,
  MessageQuery,
  Reads,
  SearchQuery,
  StoredPost,
  ThreadQuery,
} from "../domain/store.ts";
import type * as t from "../domain/types.ts";
import type { WaitingThread } from "../domain/wake-text.ts";
import { FOR_ME, ROLE } from "./addressed.ts";
import type { Queryable } from "./database.ts";
import * as rows from "./rows.ts";
import { openWakes, unresolvedEscalations, waitingIn } from "./sight.ts";
import { verifyChains } from "./verify-chains.ts";

type Row = Record<string, unknown>;

const DAY_MS = 86_400_000;

/** Queries on one workspace, by single statements or within a transaction. */
export class PgReads implements Reads {
  protected readonly db: Queryable;
  protected readonly workspace: string;
  readonly #defaults: Policy;

  constructor(db: Queryable, workspace: string, defaults: Policy) {
    this.db = db;
    this.workspace = workspace;
    this.#defaults = defaults;
  }

  /** Runs a query. `$1` is the workspace, `values` follow. */
  protected async all(text: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    return (await this.db.query<Row>(text, [this.workspace, ...values])).rows;
  }

  protected async one(text: string, ...values: readonly unknown[]): Promise<Row | undefined> {
    return (await this.all(text, ...values))[0];
  }

  async now(): Promise<number> {
    const row = await this.one("select clock_timestamp() as now where $1::text is not null");
    return rows.timeOf(row, "now");
  }

  async policy(): Promise<Policy> {
    const row = await this.one("select policy from threads.workspace where workspace_id = $1");
    return policyOf((row?.["policy"] ?? {}) as t.Metadata, this.#defaults);
  }

  async thread(threadId: string): Promise<t.Thread | undefined> {
    const row = await this.one("select * from threads.thread where workspace_id = $1 and thread_id = $2", threadId);
    return row && rows.threadOf(row);
  }

  async threadByKey(agent: string, key: string) {
    const row = await this.one(
      "select * from threads.thread where workspace_id = $1 and created_by = $2 and idem_key = $3",
      agent,
      key,
    );
    return row && { thread: rows.threadOf(row), payloadHash: row["payload_hash"] as string };
  }

  async threads(query: ThreadQuery): Promise<readonly ListedThread[]> {
    const { agent, all, status, unreadOnly = false, owner, limit, before } = query;
    const found = await this.all(
      `select t.*, coalesce(u.unread, 0)::int as unread from threads.thread t
       left join threads.participant p on p.workspace_id = t.workspace_id and p.thread_id = t.thread_id
         and p.agent_id = $2 and p.left_at is null
       left join lateral (select count(*) as unread from threads.message m where m.workspace_id = p.workspace_id
         and m.thread_id = p.thread_id and m.seq > p.acked_seq and ${FOR_ME}) u on true
       where t.workspace_id = $1 and ($3 or p.agent_id is not null) and ($4::text[] is null or t.status = any ($4))
         and ($5::text is null or t.owner = $5) and (not $6 or u.unread > 0)
         and ($7::float8 is null or (date_trunc('milliseconds', t.updated_at), t.thread_id)
           < (to_timestamp($7::float8 / 1000), $8))
       order by date_trunc('milliseconds', t.updated_at) desc, t.thread_id desc limit $9`,
      ...[agent, all, status ?? null, owner ?? null, unreadOnly],
      ...[before?.updatedAt ?? null, before?.threadId ?? null, limit],
    );
    return found.map((row) => ({ thread: rows.threadOf(row), unread: row["unread"] as number }));
  }

  async participants(threadId: string): Promise<readonly t.Participant[]> {
    const found = await this.all(
      `select p.*, ${ROLE} as role, coalesce(a.kind, 'agent') as kind, a.seen_at is not null as known
       from threads.participant p left join threads.agent a using (workspace_id, agent_id)
       where p.workspace_id = $1 and p.thread_id = $2 and p.left_at is null order by p.joined_at, p.agent_id`,
      threadId,
    );
    return found.map(rows.participantOf);
  }

  async messages({ threadId, afterSeq, limit, sender, eventType }: MessageQuery): Promise<readonly t.Message[]> {
    const found = await this.all(
      `select ${rows.MESSAGE_COLUMNS} from threads.message m where m.workspace_id = $1 and m.thread_id = $2
       and m.seq > $3 and ($4::text is null or m.sender = $4) and ($5::text is null or m.event_type = $5)
       order by m.seq limit $6`,
      ...[threadId, afterSeq, sender ?? null, eventType ?? null, limit],
    );
    return found.map(rows.messageOf);
  }

  async lastMessages(threadId: string, count: number): Promise<readonly t.Message[]> {
    const found = await this.all(
      `select ${rows.MESSAGE_COLUMNS} from threads.message m where m.workspace_id = $1 and m.thread_id = $2
       order by m.seq desc limit $3`,
      ...[threadId, count],
    );
    return found.map(rows.messageOf).toReversed();
  }

  async message(threadId: string, messageId: string): Promise<t.Message | undefined> {
    const row = await this.one(
      `select ${rows.MESSAGE_COLUMNS} from threads.message m
       where m.workspace_id = $1 and m.thread_id = $2 and m.message_id = $3`,
      ...[threadId, messageId],
    );
    return row && rows.messageOf(row);
  }

  async postByKey(threadId: string, sender: string, key: string): Promise<StoredPost | undefined> {
    const row = await this.one(
      `select ${rows.MESSAGE_COLUMNS}, m.payload_hash from threads.message m
       where m.workspace_id = $1 and m.thread_id = $2 and m.sender = $3 and m.idem_key = $4`,
      ...[threadId, sender, key],
    );
    return row && { message: rows.messageOf(row), payloadHash: row["payload_hash"] as string };
  }

  async inbox(agent: string, limit: number): Promise<readonly t.Message[]> {
    const found = await this.all(
      `select ${rows.MESSAGE_COLUMNS} from threads.participant p join threads.message m
         on m.workspace_id = p.workspace_id and m.thread_id = p.thread_id and m.seq > p.acked_seq
       where p.workspace_id = $1 and p.agent_id = $2 and p.left_at is null and ${FOR_ME}
       order by m.created_at, m.thread_id, m.seq limit $3`,
      ...[agent, limit],
    );
    return found.map(rows.messageOf);
  }

  async unread(threadId: string, agent: string): Promise<number> {
    return await this.#count(agent, "and p.thread_id = $3", threadId);
  }

  async unreadTotal(agent: string): Promise<number> {
    return await this.#count(agent, "");
  }

  async #count(agent: string, where: string, ...values: readonly unknown[]): Promise<number> {
    const row = await this.one(
      `select count(*) as count from threads.participant p join threads.message m
         on m.workspace_id = p.workspace_id and m.thread_id = p.thread_id and m.seq > p.acked_seq
       where p.workspace_id = $1 and p.agent_id = $2 and p.left_at is null and ${FOR_ME} ${where}`,
      ...[agent, ...values],
    );
    return row?.["count"] as number;
  }

  async search(query: SearchQuery): Promise<readonly t.Message[]> {
    const { agent, query: words, threadId, sender, eventType, status, since, until, limit, before } = query;
    const found = await this.all(
      `select ${rows.MESSAGE_COLUMNS} from threads.message m
       join threads.thread t on t.workspace_id = m.workspace_id and t.thread_id = m.thread_id
       where m.workspace_id = $1 and ($2::text is null or exists (select from threads.participant p
           where p.workspace_id = $1 and p.thread_id = m.thread_id and p.agent_id = $2 and p.left_at is null))
         and ($3::text is null or m.search @@ websearch_to_tsquery('simple', $3))
         and ($4::text is null or m.thread_id = $4) and ($5::text is null or m.sender = $5)
         and ($6::text is null or m.event_type = $6) and ($7::text is null or t.status = $7)
         and ($8::float8 is null or m.created_at >= to_timestamp($8::float8 / 1000))
         and ($9::float8 is null or m.created_at < to_timestamp($9::float8 / 1000))
         and ($10::float8 is null or (m.created_at, m.message_id) < (to_timestamp($10::float8 / 1000), $11))
       order by m.created_at desc, m.message_id desc limit $12`,
      ...[agent ?? null, words ?? null, threadId ?? null, sender ?? null, eventType ?? null, status ?? null],
      ...[since ?? null, until ?? null, before?.createdAt ?? null, before?.messageId ?? null, limit],
    );
    return found.map(rows.messageOf);
  }

  async hopGiven(agent: string): Promise<number | undefined> {
    const row = await this.one(
      `select m.hop from threads.participant p join threads.message m
         on m.workspace_id = p.workspace_id and m.thread_id = p.thread_id and m.seq > p.answered_seq
         and m.seq <= greatest(p.read_seq, p.offered_seq)
       where p.workspace_id = $1 and p.agent_id = $2 and m.sender <> $2 and m.kind <> 'system'
       order by m.created_at desc, m.seq desc limit 1`,
      agent,
    );
    return row?.["hop"] as number | undefined;
  }

  async waiting(agent: string): Promise<readonly WaitingThread[]> {
    const { orchestrator } = await this.policy();
    const found = await this.all(
      `select t.thread_id, t.title, w.count, l.seq, l.sender, l.event_type, left(l.body, 200) as body
       from threads.participant p left join threads.agent a using (workspace_id, agent_id)
       join threads.thread t on t.workspace_id = p.workspace_id and t.thread_id = p.thread_id
       cross join lateral (select count(*)::int as count, max(m.seq) as upto from threads.message m
         where m.workspace_id = p.workspace_id and m.thread_id = p.thread_id
           and m.seq > coalesce(p.again_seq, greatest(p.read_seq, p.offered_seq))
           and m.urgency <> 'quiet' and m.sender <> p.agent_id
           and (m.kind <> 'system' or p.agent_id = any (m.recipients))
           and (m.recipients is null or p.agent_id = any (m.recipients))
           and (p.wake = 'all' or p.agent_id = any (m.to_agents) or ${ROLE} = any (m.to_roles))) w
       join threads.message l on l.workspace_id = p.workspace_id and l.thread_id = p.thread_id and l.seq = w.upto
       where p.workspace_id = $1 and p.agent_id = $2 and p.left_at is null and p.wake <> 'never'
         and coalesce(a.kind, 'agent') = 'agent' and t.status <> 'closed'
         and (t.status <> 'blocked' or (${ROLE} = 'orchestrator' and $3 in ('', p.agent_id)))
         and (t.paused_until is null or t.paused_until < clock_timestamp())
       order by l.created_at desc limit 100`,
      ...[agent, orchestrator],
    );
    return found.map((row) => ({
      threadId: row["thread_id"] as string,
      title: row["title"] as string,
      count: row["count"] as number,
      upto: row["seq"] as number,
      last: {
        sender: row["sender"] as string,
        text: row["body"] as string,
        eventType: (row["event_type"] ?? undefined) as string | undefined,
      },
    }));
  }

  waitingIn(threadIds: readonly string[]): Promise<readonly t.Waiting[]> {
    return waitingIn((text, ...values) => this.all(text, ...values), threadIds);
  }

  async shareThread(agent: string, other: string): Promise<boolean> {
    const row = await this.one(
      `select 1 as one from threads.participant p join threads.participant o using (workspace_id, thread_id)
       where workspace_id = $1 and p.agent_id = $2 and o.agent_id = $3 and p.left_at is null and o.left_at is null limit 1`,
      ...[agent, other],
    );
    return row !== undefined;
  }

  async hasUnacknowledgedWake(agent: string): Promise<boolean> {
    const row = await this.one(
      `select 1 as one from threads.wake where workspace_id = $1 and agent_id = $2
       and state in ('SUBMITTED', 'UNKNOWN', 'CLAIMED', 'QUEUED') limit 1`,
      agent,
    );
    return row !== undefined;
  }

  async session(sessionId: string): Promise<t.RuntimeSession | undefined> {
    const row = await this.one("select * from threads.session where workspace_id = $1 and session_id = $2", sessionId);
    return row && (await this.#judged([row]))[0];
  }

  async sessions(): Promise<readonly t.RuntimeSession[]> {
    return await this.#judged(
      await this.all("select * from threads.session where workspace_id = $1 order by agent_id, session_id limit 1000"),
    );
  }

  /** Returns a live session as `stale` if its last heartbeat is too old. */
  async #judged(found: readonly Row[]): Promise<readonly t.RuntimeSession[]> {
    const { stale_after: staleAfter = DAY_MS } = await this.policy();
    const now = await this.now();
    return found.map(rows.sessionOf).map((one) => {
      const isStale = one.state === "live" && one.lastHeartbeatAt < now - staleAfter;
      return isStale ? { ...one, state: "stale" as const } : one;
    });
  }

  async wakes({
    agent,
    threadId,
    limit,
  }: {
    readonly agent?: string;
    readonly threadId?: string;
    readonly limit: number;
  }) {
    const found = await this.all(
      `select w.* from threads.wake w where w.workspace_id = $1 and ($2::text is null or w.agent_id = $2)
         and ($3::text is null or w.agent_id in (select p.agent_id from threads.participant p
           where p.workspace_id = $1 and p.thread_id = $3))
       order by w.created_at desc limit $4`,
      ...[agent ?? null, threadId ?? null, limit],
    );
    return found.map(rows.wakeOf);
  }

  async wake(wakeId: string): Promise<t.Wake | undefined> {
    const row = await this.one("select * from threads.wake where workspace_id = $1 and wake_id = $2", wakeId);
    return row && rows.wakeOf(row);
  }

  openWakes(also: readonly string[], agent?: string): Promise<readonly t.Wake[]> {
    return openWakes((text, ...values) => this.all(text, ...values), also, agent);
  }

  async attempts(wakeId: string): Promise<readonly t.WakeAttempt[]> {
    const found = await this.all(
      "select * from threads.wake_attempt where workspace_id = $1 and wake_id = $2 order by attempt",
      wakeId,
    );
    return found.map(rows.attemptOf);
  }

  async escalations({ state, limit }: { readonly state?: t.EscalationState; readonly limit: number }) {
    const found = await this.all(
      `select * from threads.escalation where workspace_id = $1 and ($2::text is null or state = $2)
       order by created_at desc limit $3`,
      ...[state ?? null, limit],
    );
    return found.map(rows.escalationOf);
  }

  async escalation(id: string): Promise<t.Escalation | undefined> {
    const row = await this.one("select * from threads.escalation where workspace_id = $1 and escalation_id = $2", id);
    return row && rows.escalationOf(row);
  }

  unresolvedEscalations(also: readonly string[]): Promise<readonly t.Escalation[]> {
    return unresolvedEscalations((text, ...values) => this.all(text, ...values), also);
  }

  async auditEntries({ afterSeq, limit }: { readonly afterSeq: number; readonly limit: number }) {
    const found = await this.all(
      "select * from threads.audit where workspace_id = $1 and seq > $2 order by seq limit $3",
      ...[afterSeq, limit],
    );
    return found.map(rows.auditOf);
  }

  async verifyChains(): Promise<ChainReport> {
    return await verifyChains((text, ...values) => this.all(text, ...values));
  }
}
