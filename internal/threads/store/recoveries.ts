import type { LastSession } from "../domain/recovery.ts";
import type { ClaimedWake, NamedConversation, RecentLife, WakeTarget } from "../domain/wake-store.ts";
import type { Queryable } from "./database.ts";

/** Reads facts about an agent without a runtime; see `WakeStore.recentLife`. */
export async function recentLife(
  db: Queryable,
  { workspace, wake }: ClaimedWake,
  staleAfterMs: number,
): Promise<RecentLife> {
  const { rows: sessions } = await db.query<Record<string, unknown>>(
    `select *, last_heartbeat_at < clock_timestamp() - $3::float8 * interval '1 millisecond' as stale
     from threads.session where workspace_id = $1 and agent_id = $2 and managed and runtime = 'bridge'
     order by last_heartbeat_at desc limit 1`,
    [workspace, wake.agentId, staleAfterMs],
  );
  const { rows: calls } = await db.query<{ conversation: string | null; stale: boolean; recent: boolean }>(
    `select (array_agg(agent_session_id order by last_heartbeat_at desc) filter (where agent_session_id <> ''))[1] as conversation,
       max(last_heartbeat_at) < clock_timestamp() - $3::float8 * interval '1 millisecond' as stale,
       max(last_heartbeat_at) > clock_timestamp() - interval '2 minutes' as recent
     from threads.session where workspace_id = $1 and agent_id = $2 and not managed having count(*) > 0`,
    [workspace, wake.agentId, staleAfterMs],
  );
  const { rows: counts } = await db.query<{ role: string | null; starts: number; spawns: number }>(
    `select coalesce(
         (select nullif(role, '') from threads.agent where workspace_id = $1 and agent_id = $2),
         (select max(role) from threads.participant where workspace_id = $1 and agent_id = $2 and left_at is null)) as role,
       (select count(*)::int from threads.wake_attempt a join threads.wake w using (workspace_id, wake_id)
         where a.workspace_id = $1 and w.agent_id = $2 and a.kind <> 'live'
           and a.begun_at > clock_timestamp() - interval '15 minutes') as starts,
       (select count(*)::int from threads.wake_attempt where workspace_id = $1 and kind = 'spawn'
         and begun_at > clock_timestamp() - interval '1 hour') as spawns`,
    [workspace, wake.agentId],
  );
  const [[last], [called]] = [sessions, calls];
  const { role, starts = 0, spawns = 0 } = counts[0] ?? {};
  const unmanaged = called && {
    ...{ agentSessionId: called.conversation ?? "", isStale: called.stale, isRecent: called.recent },
  };
  return { last: last && sessionOf(last), unmanaged, role: role ?? "", recentStarts: starts, hourlySpawns: spawns };
}

/** Reads the conversation of an agent without a runtime; see `WakeStore.conversation`. */
export async function namedConversation(
  db: Queryable,
  { workspace, wake }: WakeTarget,
  staleAfterMs: number,
): Promise<NamedConversation | undefined> {
  const { rows } = await db.query<{
    id: string | null;
    role: string | null;
    stale: boolean;
    recent: boolean;
    bridged: boolean;
    failures: number;
  }>(
    `select (array_agg(agent_session_id order by last_heartbeat_at desc) filter (where agent_session_id <> ''))[1] as id,
       max(last_heartbeat_at) < clock_timestamp() - $3::float8 * interval '1 millisecond' as stale,
       bool_or(last_heartbeat_at > clock_timestamp() - interval '2 minutes' and not exists (
         select from threads.wake_attempt a where a.workspace_id = $1 and a.request_id = s.session_id
           and a.kind = 'resume' and a.outcome is not null)) as recent,
       bool_or(managed and runtime = 'bridge') as bridged,
       (select role from threads.agent where workspace_id = $1 and agent_id = $2) as role,
       (select count(*)::int from threads.wake_attempt a join threads.wake w using (workspace_id, wake_id)
         where a.workspace_id = $1 and w.agent_id = $2 and a.kind = 'resume' and a.outcome = 'unknown'
           and a.begun_at > clock_timestamp() - interval '15 minutes') as failures
     from threads.session s where workspace_id = $1 and agent_id = $2 having count(*) > 0`,
    [workspace, wake.agentId, staleAfterMs],
  );
  const [row] = rows;
  if (row === undefined || row.id === null) return undefined;
  const { id, role, stale: isStale, recent: isRecent, bridged: isOfBridge, failures } = row;
  return { id, role: role ?? "", isStale, isRecent, isOfBridge, failures };
}

function sessionOf(row: Record<string, unknown>): LastSession {
  return {
    sessionId: String(row["session_id"]),
    provider: String(row["provider"]),
    repoPath: String(row["repo_path"]),
    agentOpts: row["agent_opts"] as LastSession["agentOpts"],
    agentSessionId: String(row["agent_session_id"]),
    isStale: row["stale"] === true,
  };
}
