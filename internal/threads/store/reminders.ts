import type { PoolClient } from "pg";
import { newWakeId } from "../domain/ids.ts";
import { type ForgottenMessages, REMIND_MS, REMINDER, REMINDERS } from "../domain/reminder.ts";
import { FOR_ME, ROLE } from "./addressed.ts";
import type { Queryable } from "./database.ts";
import { OPEN } from "./open-wakes.ts";

/** `REMIND_MS` as an SQL interval. */
export const REMIND = `interval '${REMIND_MS} milliseconds'`;

/** See `WakeStore.forgotten`. Skips an agent that has an open wake, or one without proof. */
export async function forgotten(db: Queryable, limit: number): Promise<readonly ForgottenMessages[]> {
  const { rows } = await db.query<{ workspace_id: string; agent_id: string; thread_id: string; reminders: number }>(
    `update threads.participant g set look_at = clock_timestamp() + interval '15 seconds' from (
       select p.workspace_id, p.thread_id, p.agent_id from threads.participant p
       join threads.thread t using (workspace_id, thread_id)
       left join threads.agent a using (workspace_id, agent_id)
       where greatest(p.read_seq, p.offered_seq) > p.acked_seq and p.reminders <= ${REMINDERS}
         and greatest(p.returned_at, p.offered_at) <= clock_timestamp() - ${REMIND}
         and greatest(p.returned_at, p.offered_at) > clock_timestamp() - interval '1 day'
         and (p.look_at is null or p.look_at <= clock_timestamp())
         and p.left_at is null and p.wake <> 'never' and coalesce(a.kind, 'agent') = 'agent'
         and t.status in ('active', 'resolved') and (t.paused_until is null or t.paused_until < clock_timestamp())
         and exists (select from threads.message m where m.workspace_id = p.workspace_id
           and m.thread_id = p.thread_id and m.seq > p.acked_seq and m.seq <= greatest(p.read_seq, p.offered_seq)
           and ${FOR_ME} and m.urgency <> 'quiet'
           and (p.wake = 'all' or p.agent_id = any (m.to_agents) or ${ROLE} = any (m.to_roles)))
         and not exists (select from threads.wake w where w.workspace_id = p.workspace_id and w.agent_id = p.agent_id
           and (w.state in ${OPEN} or w.state = 'UNKNOWN'
             or (w.state = 'FAILED' and w.created_at > greatest(p.returned_at, p.offered_at))))
       order by p.workspace_id, p.thread_id, p.agent_id for update of p skip locked limit $1) d
     where g.workspace_id = d.workspace_id and g.thread_id = d.thread_id and g.agent_id = d.agent_id
     returning g.workspace_id, g.agent_id, g.thread_id, g.reminders`,
    [limit],
  );
  const agents = Map.groupBy(rows, (row) => JSON.stringify([row.workspace_id, row.agent_id]));
  return [...agents.values()].map((own) => ({
    workspace: own[0]?.workspace_id ?? "",
    agentId: own[0]?.agent_id ?? "",
    threads: own.map((row) => ({ threadId: row.thread_id, reminders: row.reminders })),
  }));
}

/** See `WakeStore.remind`. */
export async function remind(client: PoolClient, { workspace, agentId, threads }: ForgottenMessages): Promise<boolean> {
  let isReminded = false;
  let isChanged = false;
  for (const { threadId, reminders } of [...threads].sort((a, b) => (a.threadId < b.threadId ? -1 : 1))) {
    const { rowCount } = await client.query(
      `update threads.participant set reminders = $4 + 1, again_seq = case when $4 < ${REMINDERS} then acked_seq end
       where workspace_id = $1 and thread_id = $2 and agent_id = $3 and reminders = $4
         and greatest(read_seq, offered_seq) > acked_seq`,
      [workspace, threadId, agentId, reminders],
    );
    if (rowCount === 0) continue;
    isChanged = true;
    if (reminders < REMINDERS) isReminded = true;
  }
  if (isReminded) {
    await client.query(
      `insert into threads.wake (workspace_id, wake_id, agent_id, state, reason, due_at)
       values ($1, $2, $3, 'PENDING', $4, clock_timestamp()) on conflict do nothing`,
      [workspace, newWakeId(), agentId, REMINDER],
    );
  }
  return isChanged;
}

/** Records that a wake has again named the messages that a reminder made wait. */
export async function typedAgain(
  client: PoolClient,
  workspace: string,
  agentId: string,
  threads: readonly string[],
): Promise<void> {
  if (threads.length === 0) return;
  await client.query(
    `update threads.participant set again_seq = null
     where workspace_id = $1 and agent_id = $2 and thread_id = any ($3) and again_seq is not null`,
    [workspace, agentId, threads],
  );
}
