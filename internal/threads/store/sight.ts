import type * as t from "../domain/types.ts";
import { FOR_ME } from "./addressed.ts";
import { OPEN } from "./open-wakes.ts";
import * as rows from "./rows.ts";

/** Runs a query whose `$1` is the workspace. */
type Query = (text: string, ...values: readonly unknown[]) => Promise<readonly Readonly<Record<string, unknown>>[]>;

const LIMIT = 1000;

/** See `Reads.waitingIn`. */
export async function waitingIn(query: Query, threadIds: readonly string[]): Promise<readonly t.Waiting[]> {
  const found = await query(
    `select p.thread_id, p.agent_id, p.read_seq, w.count, w.seq, l.sender, l.created_at from threads.participant p
     cross join lateral (select count(*) as count, max(m.seq) as seq from threads.message m
       where m.workspace_id = p.workspace_id and m.thread_id = p.thread_id and m.seq > p.acked_seq and ${FOR_ME}) w
     join threads.message l on l.workspace_id = p.workspace_id and l.thread_id = p.thread_id and l.seq = w.seq
     where p.workspace_id = $1 and p.thread_id = any ($2) and p.left_at is null
     order by p.thread_id, p.joined_at, p.agent_id`,
    threadIds,
  );
  return found.map(rows.waitingOf);
}

/** See `Reads.openWakes`. */
export async function openWakes(query: Query, also: readonly string[], agent?: string): Promise<readonly t.Wake[]> {
  const found = await query(
    `select * from threads.wake where workspace_id = $1 and ($2::text is null or agent_id = $2)
       and (state in ${OPEN} or wake_id = any ($3))
     order by created_at limit ${LIMIT}`,
    ...[agent ?? null, also],
  );
  return found.map(rows.wakeOf);
}

/** See `Reads.unresolvedEscalations`. */
export async function unresolvedEscalations(query: Query, also: readonly string[]): Promise<readonly t.Escalation[]> {
  const found = await query(
    `select * from threads.escalation where workspace_id = $1 and (state <> 'resolved' or escalation_id = any ($2))
     order by created_at limit ${LIMIT}`,
    also,
  );
  return found.map(rows.escalationOf);
}
