import type { RuntimeKind } from "../domain/runtimes.ts";
import type { ClaimedWake } from "../domain/wake-store.ts";
import type { Queryable } from "./database.ts";
import * as rows from "./rows.ts";

/** How long a wake waits for a process whose runtimes have the agent, before any other process may look for it. */
const GRACE = "interval '10 seconds'";

/**
 * SQL expression: the kind of runtime that has a wake's agent: the bridge of a session that is being started, else that
 * of the agent's last confirmed session; empty: not known.
 */
function kindOf(wake: string): string {
  return `coalesce(
    (select 'bridge' from threads.wake_attempt a where a.workspace_id = ${wake}.workspace_id
       and a.wake_id = ${wake}.wake_id and a.outcome is null and a.kind <> 'live' and a.text = '' limit 1),
    (select s.runtime from threads.session s where s.workspace_id = ${wake}.workspace_id
       and s.agent_id = ${wake}.agent_id and s.managed order by s.state = 'ended', s.last_heartbeat_at desc limit 1), '')`;
}

/** See `WakeStore.claim`. */
export async function claimWakes(
  db: Queryable,
  {
    by,
    limit,
    kind,
    lease,
  }: { readonly by: string; readonly limit: number; readonly kind: RuntimeKind; readonly lease: string },
): Promise<readonly ClaimedWake[]> {
  const { rows: found } = await db.query<Record<string, unknown>>(
    `update threads.wake w set lease_by = $1, lease_until = clock_timestamp() + ${lease},
       state = case when w.state in ('PENDING', 'DEFERRED') then 'CLAIMED' else w.state end
     from (select u.workspace_id, u.wake_id from threads.wake u cross join lateral (select
         case when u.state in ('PENDING', 'DEFERRED') then u.due_at else coalesce(u.lease_until, '-infinity') end as at) due
       where u.state in ('PENDING', 'DEFERRED', 'CLAIMED', 'QUEUED') and due.at <= clock_timestamp()
         and (${kindOf("u")} in ('', $3) or due.at <= clock_timestamp() - ${GRACE})
       order by u.urgency = 'normal', u.due_at for update of u skip locked limit $2) d
     where w.workspace_id = d.workspace_id and w.wake_id = d.wake_id
     returning w.*, nullif(${kindOf("w")}, '') as kind`,
    [by, limit, kind],
  );
  return found.map((row) => {
    const own = row["kind"] as RuntimeKind | null;
    return { workspace: row["workspace_id"] as string, wake: rows.wakeOf(row), ...(own !== null && { kind: own }) };
  });
}
