import type { Pool, PoolClient } from "pg";
import { newWakeId } from "../domain/ids.ts";
import { DEFAULT_POLICY } from "../domain/policy.ts";
import type { ForgottenMessages } from "../domain/reminder.ts";
import type { RuntimeKind } from "../domain/runtimes.ts";
import { type DoubtfulWake, SECOND_LOOK } from "../domain/second-look.ts";
import type { Wake, WakeNews, WakeState } from "../domain/types.ts";
import type { Blocked } from "../domain/wake-blocks.ts";
import type {
  AttemptIntent,
  ClaimedWake,
  ConfirmedSession,
  NamedConversation,
  RecentLife,
  WakeBound,
  WakeResult,
  WakeStore,
  WakeTarget,
} from "../domain/wake-store.ts";
import { FOR_ME } from "./addressed.ts";
import { claimWakes } from "./claims.ts";
import { type Queryable, statements, transaction } from "./database.ts";
import { OPEN } from "./open-wakes.ts";
import { PgReads } from "./reads.ts";
import { namedConversation, recentLife } from "./recoveries.ts";
import { forgotten, remind, typedAgain } from "./reminders.ts";

const LEASE = "interval '30 seconds'";
/** States after which a message that came meanwhile gets a wake of its own. */
const ENDED_WELL: ReadonlySet<WakeState> = new Set(["SUBMITTED", "UNKNOWN", "CANCELLED", "EXPIRED"]);
/** SQL condition: by now the agent has read all messages that the text names (`$8`). */
const READ_ALREADY = `$8::jsonb <> '{}' and not exists (
  select from jsonb_each_text($8::jsonb) o join threads.participant p
    on p.workspace_id = $1 and p.thread_id = o.key and p.agent_id = wake.agent_id
      and (p.read_seq < o.value::bigint or p.again_seq is not null))`;
/** SQL condition: the agent has acted since the text was typed (`$11`: ms from the attempt's start). */
const HAS_ACTED = `acted_at >= (select a.begun_at + $11::float8 * interval '1 millisecond' from threads.wake_attempt a
  where a.workspace_id = $1 and a.wake_id = $2 and a.attempt = $10)`;
const CAUSE = (by: string) => `case when ${by} in ('person', 'draft') then 'person' else ${by} end`;

/**
 * SQL expression: when the wake's block began, given that `by` blocks it now. The block continues while its cause is
 * the same.
 */
function blockedSince(by: string): string {
  return `case when ${CAUSE("blocked_by")} = ${CAUSE(`${by}::text`)} then coalesce(deferred_since, clock_timestamp())
    else clock_timestamp() end`;
}

/** SQL expression: adds an event to the wake's `news`, unless `news` or `told` contains it. '': no event. */
function withNews(news: string): string {
  return `case when ${news}::text = '' or ${news}::text = any (news || told) then news
    else array_append(news, ${news}::text) end`;
}

/** Wakes in PostgreSQL; see `WakeStore`. */
export class PgWakes implements WakeStore {
  readonly #pool: Pool;
  readonly #db: Queryable;

  constructor(pool: Pool) {
    this.#pool = pool;
    this.#db = statements(pool);
  }

  claim(by: string, limit: number, kind: RuntimeKind): Promise<readonly ClaimedWake[]> {
    return claimWakes(this.#db, { by, limit, kind, lease: LEASE });
  }

  async renew({ workspace, wake }: ClaimedWake, by: string): Promise<boolean> {
    const { rows: found } = await this.#db.query(
      `update threads.wake set lease_until = clock_timestamp() + ${LEASE}
       where workspace_id = $1 and wake_id = $2 and lease_by = $3 and state in ('CLAIMED', 'QUEUED') returning 1 as one`,
      [workspace, wake.wakeId, by],
    );
    return found.length === 1;
  }

  async release({ workspace, wake }: ClaimedWake, by: string): Promise<void> {
    await this.#db.query(
      `update threads.wake set lease_until = clock_timestamp()
       where workspace_id = $1 and wake_id = $2 and lease_by = $3 and state in ('CLAIMED', 'QUEUED')`,
      [workspace, wake.wakeId, by],
    );
  }

  async bound({ workspace, wake }: ClaimedWake, perMinute: number): Promise<WakeBound> {
    const { rows: found } = await this.#db.query<{ paused: boolean; own: number; all: number }>(
      `select exists (select from threads.workspace where workspace_id = $1 and paused_until > clock_timestamp())
           or exists (select from threads.agent
             where workspace_id = $1 and agent_id = $2 and paused_until > clock_timestamp()) as paused,
         (select count(*)::int from threads.wake_attempt a join threads.wake w using (workspace_id, wake_id)
           where a.workspace_id = $1 and w.agent_id = $2 and a.begun_at > clock_timestamp() - interval '1 minute') as own,
         (select count(*)::int from threads.wake_attempt a
           where a.workspace_id = $1 and a.begun_at > clock_timestamp() - interval '1 minute') as all`,
      [workspace, wake.agentId],
    );
    const [row] = found;
    if (row?.paused) return "paused";
    return row !== undefined && (row.own >= perMinute || row.all >= perMinute * 12) ? "rate" : undefined;
  }

  async begin({ workspace, wake }: ClaimedWake, by: string, intent: AttemptIntent): Promise<number | undefined> {
    return await transaction(this.#pool, async (client) => {
      const { rows: found } = await client.query<{ age: number }>(
        `update threads.wake set attempts = $4, lease_until = clock_timestamp() + ${LEASE}, blocked_by = '',
           blocked_title = '', deferred_since = null
         where workspace_id = $1 and wake_id = $2 and lease_by = $3 and state = 'CLAIMED'
         returning extract(epoch from clock_timestamp() - created_at)::float8 * 1000 as age`,
        [workspace, wake.wakeId, by, intent.attempt],
      );
      const [begun] = found;
      if (begun === undefined) return undefined;
      await client.query(
        `insert into threads.wake_attempt (workspace_id, wake_id, attempt, request_id, session_id, epoch, text, upto, kind)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        [
          ...[workspace, wake.wakeId, intent.attempt, intent.requestId, intent.sessionId, intent.epoch, intent.text],
          JSON.stringify(intent.upto),
          intent.kind ?? "live",
        ],
      );
      return begun.age;
    });
  }

  async sendAgain({ workspace, wake }: ClaimedWake, by: string, attempt: number): Promise<boolean> {
    const { rows: found } = await this.#db.query(
      `update threads.wake_attempt a set begun_at = clock_timestamp() from threads.wake w
       where a.workspace_id = $1 and a.wake_id = $2 and a.attempt = $4 and a.outcome is null
         and w.workspace_id = $1 and w.wake_id = $2 and w.lease_by = $3 and w.state in ('CLAIMED', 'QUEUED')
       returning 1 as one`,
      [workspace, wake.wakeId, by, attempt],
    );
    return found.length === 1;
  }

  async counts(): Promise<{ readonly wakes: number; readonly escalations: number; readonly unread: number }> {
    const { rows: found } = await this.#db.query<{ wakes: number; escalations: number; unread: number }>(
      `select (select count(*)::int from threads.wake where state in ${OPEN}) as wakes,
         (select count(*)::int from threads.escalation where state <> 'resolved') as escalations,
         (select coalesce(sum(u.unread), 0)::int from threads.participant p
           join threads.thread t using (workspace_id, thread_id)
           cross join lateral (select count(*) as unread from (select from threads.message m
             where m.workspace_id = p.workspace_id and m.thread_id = p.thread_id and m.seq > p.acked_seq and ${FOR_ME}
             limit 1000) l) u
           where p.left_at is null and p.acked_seq < t.last_seq) as unread`,
    );
    return found[0] ?? { wakes: 0, escalations: 0, unread: 0 };
  }

  async queued({ workspace, wake }: ClaimedWake, by: string, { by: blockedBy, title = "" }: Blocked): Promise<number> {
    const { rows: found } = await this.#db.query<{ ms: number }>(
      `update threads.wake set state = 'QUEUED', blocked_by = $4, blocked_title = $5, last_outcome = 'queued',
         deferred_since = ${blockedSince("$4")}
       where workspace_id = $1 and wake_id = $2 and lease_by = $3 and state in ('CLAIMED', 'QUEUED')
       returning extract(epoch from clock_timestamp() - deferred_since)::float8 * 1000 as ms`,
      [workspace, wake.wakeId, by, blockedBy, title],
    );
    return found[0]?.ms ?? 0;
  }

  async announce({ workspace, wake }: ClaimedWake, by: string, news: WakeNews): Promise<void> {
    await this.#db.query(
      `update threads.wake set news = ${withNews("$4")} where workspace_id = $1 and wake_id = $2 and lease_by = $3`,
      [workspace, wake.wakeId, by, news],
    );
  }

  async finish({ workspace, wake }: ClaimedWake, by: string, result: WakeResult): Promise<number | undefined> {
    return await transaction(this.#pool, async (client) => {
      const offered = Object.entries(result.offered ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
      for (const [threadId, seq] of offered) {
        await client.query(
          `update threads.participant set offered_seq = greatest(offered_seq, $4::bigint), offered_at = clock_timestamp()
           where workspace_id = $1 and thread_id = $2 and agent_id = $3`,
          [workspace, threadId, wake.agentId, seq],
        );
      }
      if (result.attempt !== undefined) {
        const { attempt, receipt } = result.attempt;
        await client.query(
          `update threads.wake_attempt set outcome = $4, evidence = $5, ended_at = clock_timestamp()
           where workspace_id = $1 and wake_id = $2 and attempt = $3 and outcome is null`,
          [workspace, wake.wakeId, attempt, receipt.outcome, JSON.stringify(receipt.evidence)],
        );
      }
      const { rows: ended } = await client.query<{ age: number }>(
        `update threads.wake set state = case when $4 in ('SUBMITTED', 'UNKNOWN') and (${READ_ALREADY} or ${HAS_ACTED}) then 'ACKED'
             else $4 end,
           last_outcome = $5, blocked_by = $6, lease_by = null, lease_until = null,
           due_at = clock_timestamp() + case when force and not $12::boolean then 0 else $7 end * interval '1 millisecond',
           force = force and not $13::boolean,
           blocked_title = case when $6 = blocked_by then blocked_title else '' end,
           deferred_since = case when $4 = 'DEFERRED' then ${blockedSince("$6")} end, news = ${withNews("$9")}
         where workspace_id = $1 and wake_id = $2 and lease_by = $3
         returning extract(epoch from clock_timestamp() - created_at)::float8 * 1000 as age`,
        [
          ...[workspace, wake.wakeId, by, result.state, result.outcome, result.blockedBy ?? "", result.againMs ?? 0],
          JSON.stringify(result.offered ?? {}),
          result.news ?? "",
          result.attempt?.attempt ?? 0,
          result.attempt?.receipt.typedMs ?? null,
          wake.force,
          result.collided ?? false,
        ],
      );
      const [end] = ended;
      if (end === undefined) return undefined;
      await typedAgain(client, workspace, wake.agentId, Object.keys(result.offered ?? {}));
      if (ENDED_WELL.has(result.state)) await this.#wantNext(client, workspace, wake);
      return end.age;
    });
  }

  /**
   * Makes a new wake if messages still wait: those that came while this wake was open got no other, and its text may
   * not name them. Called with the wake's row locked, so that a later post finds the wake closed and makes a new one.
   */
  async #wantNext(client: PoolClient, workspace: string, { wakeId, agentId, urgency }: Wake): Promise<void> {
    const reads = new PgReads({ query: client.query.bind(client) as never }, workspace, DEFAULT_POLICY);
    if ((await reads.waiting(agentId)).length === 0) return;
    await client.query(
      `insert into threads.wake (workspace_id, wake_id, agent_id, state, reason, urgency, due_at)
       select workspace_id, $3, agent_id, 'PENDING', 'came meanwhile',
         case when urgency = $4 then 'normal' else urgency end, clock_timestamp() + interval '500 milliseconds'
       from threads.wake where workspace_id = $1 and wake_id = $2 on conflict do nothing`,
      [workspace, wakeId, newWakeId(), urgency],
    );
  }

  async confirm(workspace: string, session: ConfirmedSession): Promise<void> {
    const { sessionId, agent, runtime, provider, repoPath, agentOpts, agentSessionId = "" } = session;
    await transaction(this.#pool, async (client) => {
      await client.query(
        `update threads.session set state = 'ended' where workspace_id = $1 and agent_id = $2 and session_id <> $3
         and managed and state <> 'ended'`,
        [workspace, agent, sessionId],
      );
      await client.query(
        `insert into threads.session (workspace_id, session_id, agent_id, runtime, managed, provider, repo_path, agent_opts,
           agent_session_id, last_heartbeat_at, resumes)
         values ($1, $2, $3, $4, true, $5, $6, $7, $8, clock_timestamp(), (select count(*) from threads.wake_attempt
           where workspace_id = $1 and request_id = $2 and kind = 'resume'))
         on conflict (workspace_id, session_id) do update
         set agent_id = excluded.agent_id, runtime = excluded.runtime, managed = true, provider = excluded.provider,
           repo_path = excluded.repo_path, agent_opts = excluded.agent_opts, resumes = excluded.resumes,
           agent_session_id = coalesce(nullif(excluded.agent_session_id, ''), session.agent_session_id),
           state = 'live', last_heartbeat_at = clock_timestamp()`,
        [
          workspace,
          sessionId,
          agent,
          runtime,
          provider,
          repoPath ?? "",
          JSON.stringify(agentOpts ?? {}),
          agentSessionId,
        ],
      );
    });
  }

  recentLife(claimed: ClaimedWake, staleAfterMs: number): Promise<RecentLife> {
    return recentLife(this.#db, claimed, staleAfterMs);
  }

  conversation(target: WakeTarget, staleAfterMs: number): Promise<NamedConversation | undefined> {
    return namedConversation(this.#db, target, staleAfterMs);
  }

  async makeMissing(): Promise<number> {
    const { rows: made } = await this.#db.query(
      `insert into threads.wake (workspace_id, wake_id, agent_id, state, reason, due_at)
       select distinct on (p.workspace_id, p.agent_id) p.workspace_id,
         replace(gen_random_uuid()::text, '-', ''), p.agent_id, 'PENDING', 'found waiting', clock_timestamp()
       from threads.thread t join threads.participant p using (workspace_id, thread_id)
       left join threads.agent a using (workspace_id, agent_id)
       join threads.message m on m.workspace_id = p.workspace_id and m.thread_id = p.thread_id
         and m.seq > greatest(p.read_seq, p.offered_seq)
       where t.updated_at > clock_timestamp() - interval '1 day' and t.status in ('active', 'resolved')
         and (t.paused_until is null or t.paused_until < clock_timestamp())
         and p.left_at is null and p.wake = 'all' and coalesce(a.kind, 'agent') = 'agent'
         and m.sender <> p.agent_id and m.kind <> 'system' and m.urgency <> 'quiet'
         and (m.recipients is null or p.agent_id = any (m.recipients))
         and m.created_at < clock_timestamp() - interval '2 seconds'
         and not exists (select from threads.wake w where w.workspace_id = p.workspace_id and w.agent_id = p.agent_id
           and (w.state in ${OPEN}
             or (w.state in ('FAILED', 'UNKNOWN') and w.created_at > m.created_at)))
       on conflict do nothing returning 1 as one`,
    );
    return made.length;
  }

  forgotten(limit: number): Promise<readonly ForgottenMessages[]> {
    return forgotten(this.#db, limit);
  }

  remind(one: ForgottenMessages): Promise<boolean> {
    return transaction(this.#pool, (client) => remind(client, one));
  }

  async doubtful(limit: number): Promise<readonly DoubtfulWake[]> {
    const { rows: found } = await this.#db.query<Record<string, string>>(
      `update threads.wake w set due_at = clock_timestamp() + interval '1 minute'
       from (select u.workspace_id, u.wake_id from threads.wake u
         where u.state = 'UNKNOWN' and u.due_at <= clock_timestamp() and u.reason <> $1
           and u.created_at > clock_timestamp() - interval '1 day'
           and not exists (select from threads.wake n where n.workspace_id = u.workspace_id and n.agent_id = u.agent_id
             and n.reason = $1 and n.created_at > u.created_at)
         order by u.due_at for update skip locked limit $2) d
       where w.workspace_id = d.workspace_id and w.wake_id = d.wake_id returning w.*`,
      [SECOND_LOOK, limit],
    );
    return found.map(({ workspace_id: workspace = "", wake_id: wakeId = "", agent_id: agentId = "" }) => ({
      ...{ workspace, wakeId, agentId },
    }));
  }

  async tryAgain({ workspace, wakeId, agentId }: DoubtfulWake): Promise<boolean> {
    return await transaction(this.#pool, async (client) => {
      const { rowCount: waiting } = await client.query(
        `update threads.participant set offered_seq = read_seq from (
           select key from threads.wake_attempt a, jsonb_each_text(a.upto) where a.workspace_id = $1 and a.wake_id = $2
             and exists (select from threads.wake w where w.workspace_id = $1 and w.wake_id = $2 and w.state = 'UNKNOWN')
         ) named
         where workspace_id = $1 and agent_id = $3 and thread_id = named.key and offered_seq > read_seq`,
        [workspace, wakeId, agentId],
      );
      if (!waiting) return false;
      await client.query(
        `insert into threads.wake (workspace_id, wake_id, agent_id, state, reason, due_at)
         values ($1, $2, $3, 'PENDING', $4, clock_timestamp())
         on conflict (workspace_id, agent_id) where state in ${OPEN}
         do update set reason = excluded.reason`,
        [workspace, newWakeId(), agentId, SECOND_LOOK],
      );
      return true;
    });
  }
}
