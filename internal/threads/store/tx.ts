import { threadsError } from "../domain/faults.ts";
import { auditHash, bodyHash, messageHash } from "../domain/hashes.ts";
import { newWakeId } from "../domain/ids.ts";
import { FRESH_GUARD } from "../domain/loop-guard.ts";
import type { NewEscalation, NewMessage, ThreadPatch, Tx } from "../domain/store.ts";
import type * as t from "../domain/types.ts";
import type { PlannedWake } from "../domain/wake-plan.ts";
import { OPEN } from "./open-wakes.ts";
import { PgReads } from "./reads.ts";
import { REMIND } from "./reminders.ts";
import * as rows from "./rows.ts";

interface Head {
  seq: number;
  hash: string;
  readonly now: number;
}

/** The writes of one transaction; see `Tx` for the order of locks. */
export class PgTx extends PgReads implements Tx {
  /** The last seq and hash of each thread that this transaction has locked. */
  readonly #heads = new Map<string, Head>();

  async lockThread(threadId: string) {
    const row = await this.one(
      `select *, date_trunc('milliseconds', clock_timestamp()) as now from threads.thread
       where workspace_id = $1 and thread_id = $2 for update`,
      threadId,
    );
    if (row === undefined) return undefined;
    const thread = rows.threadOf(row);
    const now = Math.max((row["now"] as Date).getTime(), Math.floor(thread.updatedAt));
    this.#heads.set(threadId, { seq: thread.lastSeq, hash: thread.headHash, now });
    return { thread, now };
  }

  async insertThread(
    {
      threadId,
      title,
      owner,
      createdBy,
      metadata,
    }: Pick<t.Thread, "threadId" | "title" | "owner" | "createdBy" | "metadata">,
    key?: { readonly idemKey: string; readonly payloadHash: string },
  ): Promise<void> {
    await this.all(
      `insert into threads.thread (workspace_id, thread_id, title, owner, created_by, metadata, guard, idem_key, payload_hash)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      ...[threadId, title, owner, createdBy, JSON.stringify(metadata), JSON.stringify(FRESH_GUARD)],
      ...[key?.idemKey ?? null, key?.payloadHash ?? null],
    );
  }

  async patchThread(threadId: string, patch: ThreadPatch): Promise<t.Thread> {
    const { status, statusReason, disputed, needsHumanDecision, owner, guard, pausedUntil } = patch;
    const row = await this.one(
      `update threads.thread set version = version + 1, updated_at = clock_timestamp(),
         status = coalesce($3, status), status_reason = coalesce($4, status_reason),
         disputed = coalesce($5, disputed), needs_human_decision = coalesce($6, needs_human_decision),
         owner = coalesce($7, owner), guard = coalesce($8::jsonb, guard),
         paused_until = case when $9 then to_timestamp($10::float8 / 1000) else paused_until end
       where workspace_id = $1 and thread_id = $2 returning *`,
      ...[threadId, status ?? null, statusReason ?? null, disputed ?? null, needsHumanDecision ?? null, owner ?? null],
      ...[guard === undefined ? null : JSON.stringify(guard), pausedUntil !== undefined, pausedUntil ?? null],
    );
    if (row === undefined) throw threadsError("NOT_FOUND", `there is no thread ${threadId}`);
    return rows.threadOf(row);
  }

  async saveGuard(threadId: string, guard: t.GuardState): Promise<void> {
    await this.all(
      "update threads.thread set guard = $3 where workspace_id = $1 and thread_id = $2",
      ...[threadId, JSON.stringify(guard)],
    );
  }

  async join(threadId: string, agentId: string, role: string): Promise<void> {
    await this.all(
      "insert into threads.agent (workspace_id, agent_id) values ($1, $2) on conflict do nothing",
      agentId,
    );
    await this.all(
      `insert into threads.participant (workspace_id, thread_id, agent_id, role) values ($1, $2, $3, $4)
       on conflict (workspace_id, thread_id, agent_id)
       do update set left_at = null, role = coalesce(nullif(excluded.role, ''), participant.role)`,
      ...[threadId, agentId, role],
    );
  }

  async leave(threadId: string, agentId: string): Promise<void> {
    await this.all(
      `update threads.participant set left_at = clock_timestamp()
       where workspace_id = $1 and thread_id = $2 and agent_id = $3`,
      ...[threadId, agentId],
    );
  }

  async setWake(threadId: string, agentId: string, wake: t.WakeSetting): Promise<void> {
    await this.all(
      "update threads.participant set wake = $4 where workspace_id = $1 and thread_id = $2 and agent_id = $3",
      ...[threadId, agentId, wake],
    );
  }

  async append(given: NewMessage): Promise<t.Message> {
    const head = this.#heads.get(given.threadId) ?? (await this.#head(given.threadId));
    const { idemKey = null, payloadHash = null, ...rest } = given;
    const message: t.Message = { ...rest, seq: head.seq + 1, createdAt: head.now, erased: false };
    const body = bodyHash(message.text, message.metadata);
    const hash = messageHash(head.hash, message, body);
    const m = message;
    await this.all(
      `with moved as (update threads.thread set last_seq = $3, head_hash = $24, updated_at = clock_timestamp()
         where workspace_id = $1 and thread_id = $2)
       insert into threads.message (workspace_id, thread_id, seq, message_id, sender, sender_role, sender_kind,
         sender_session, kind, event_type, event_version, in_reply_to, body, metadata, to_agents, to_roles, recipients,
         urgency, hop, idem_key, payload_hash, body_hash, prev_hash, hash, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
         $24, to_timestamp($25::float8 / 1000))`,
      ...[m.threadId, m.seq, m.messageId, m.sender, m.senderRole, m.senderKind, m.senderSession, m.kind],
      ...[m.eventType ?? null, m.eventVersion ?? null, m.inReplyTo ?? null, m.text],
      ...[m.metadata === undefined ? null : JSON.stringify(m.metadata), m.to ?? null, m.toRole ?? null],
      ...[m.recipients ?? null, m.urgency, m.hop, idemKey, payloadHash, body, head.hash, hash, m.createdAt],
    );
    head.seq = message.seq;
    head.hash = hash;
    return message;
  }

  async #head(threadId: string): Promise<Head> {
    await this.lockThread(threadId);
    const head = this.#heads.get(threadId);
    if (head === undefined) throw threadsError("NOT_FOUND", `there is no thread ${threadId}`);
    return head;
  }

  async mark(
    threadId: string,
    agentId: string,
    { read = 0, acked = 0 }: { read?: number; acked?: number },
  ): Promise<number | undefined> {
    const row = await this.one(
      `update threads.participant set read_seq = greatest(read_seq, $4::bigint, $5::bigint),
         acked_seq = greatest(acked_seq, $5::bigint),
         returned_at = case when $4::bigint > coalesce(again_seq, read_seq) then clock_timestamp() else returned_at end,
         again_seq = case when greatest($4::bigint, $5::bigint) <= again_seq then again_seq end,
         reminders = case when $5::bigint > acked_seq then 0 else reminders end,
         look_at = case when $5::bigint > acked_seq then clock_timestamp() + ${REMIND} else look_at end
       where workspace_id = $1 and thread_id = $2 and agent_id = $3 returning clock_timestamp() as now`,
      ...[threadId, agentId, read, acked],
    );
    return row && rows.timeOf(row, "now");
  }

  async answered(threadId: string, agentId: string, hop: number): Promise<void> {
    await this.all(
      `update threads.participant set acked_seq = read_seq, answered_seq = greatest(read_seq, offered_seq),
         last_hop = $4, again_seq = null, reminders = 0, look_at = clock_timestamp() + ${REMIND} where workspace_id = $1 and thread_id = $2 and agent_id = $3`,
      ...[threadId, agentId, hop],
    );
  }

  async offer(agentId: string, upto: Readonly<Record<string, number>>): Promise<void> {
    for (const [threadId, seq] of Object.entries(upto).sort(([a], [b]) => (a < b ? -1 : 1))) {
      await this.all(
        `update threads.participant set offered_seq = greatest(offered_seq, $4::bigint)
         where workspace_id = $1 and thread_id = $2 and agent_id = $3`,
        ...[threadId, agentId, seq],
      );
    }
  }

  async wantWakes(wakes: readonly PlannedWake[], reason: string): Promise<void> {
    const sorted = [...wakes].sort((a, b) => (a.agentId < b.agentId ? -1 : 1));
    if (sorted.length === 0) return;
    await this.all(
      `insert into threads.wake (workspace_id, wake_id, agent_id, state, reason, urgency, due_at, force)
       select $1, w.id, w.agent, 'PENDING', $6, w.urgency, clock_timestamp() + w.delay * interval '1 millisecond', w.force
       from unnest($2::text[], $3::text[], $4::text[], $5::int[], $7::boolean[]) as w (id, agent, urgency, delay, force)
       on conflict (workspace_id, agent_id) where state in ${OPEN}
       do update set force = wake.force or excluded.force,
         due_at = case when wake.state = 'PENDING' or excluded.force then least(wake.due_at, excluded.due_at)
           else wake.due_at end,
         urgency = case when excluded.urgency = 'interrupt' or wake.urgency = 'interrupt' then 'interrupt'
           when excluded.urgency = 'urgent' or wake.urgency = 'urgent' then 'urgent' else wake.urgency end`,
      sorted.map(() => newWakeId()),
      sorted.map((one) => one.agentId),
      sorted.map((one) => one.urgency),
      sorted.map((one) => one.delayMs),
      reason,
      sorted.map((one) => one.force ?? false),
    );
  }

  async acknowledgeWakes(agentId: string): Promise<void> {
    await this.all(
      `update threads.wake set acted_at = clock_timestamp(),
         state = case when state in ('SUBMITTED', 'UNKNOWN') then 'ACKED' else state end
       where workspace_id = $1 and agent_id = $2 and state in ('SUBMITTED', 'UNKNOWN', 'CLAIMED', 'QUEUED')`,
      agentId,
    );
  }

  async wakeTold(wakeId: string, news: readonly t.WakeNews[]): Promise<void> {
    await this.all(
      `update threads.wake set told = told || $3::text[],
         news = array(select n from unnest(news) n where n <> all ($3::text[]))
       where workspace_id = $1 and wake_id = $2`,
      ...[wakeId, news],
    );
  }

  async shown(threadId: string, agentId: string): Promise<boolean> {
    const row = await this.one(
      `update threads.participant set reminders = 4
       where workspace_id = $1 and thread_id = $2 and agent_id = $3 and reminders = 3 returning 1 as one`,
      ...[threadId, agentId],
    );
    return row !== undefined;
  }

  async escalate(given: NewEscalation): Promise<{ readonly escalation: t.Escalation; readonly isNew: boolean }> {
    const { escalationId, threadId, severity, owner, cause, reason, context, dueInMs } = given;
    const row = await this.one(
      `insert into threads.escalation (workspace_id, escalation_id, thread_id, severity, owner, cause, reason, context, due_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + $9 * interval '1 millisecond')
       on conflict (workspace_id, thread_id, cause) where state <> 'resolved'
       do update set reason = case
         when position('; ' || excluded.reason || '; ' in '; ' || escalation.reason || '; ') > 0 then escalation.reason
         else left(escalation.reason || '; ' || excluded.reason, 4000) end returning *`,
      ...[escalationId, threadId, severity, owner, cause, reason, JSON.stringify(context), dueInMs],
    );
    if (row === undefined) throw new Error("an escalation was not stored");
    return { escalation: rows.escalationOf(row), isNew: row["escalation_id"] === escalationId };
  }

  async setEscalation(id: string, state: t.EscalationState): Promise<void> {
    await this.all(
      "update threads.escalation set state = $3 where workspace_id = $1 and escalation_id = $2",
      ...[id, state],
    );
  }

  async raiseEscalation(id: string, owner: string): Promise<void> {
    await this.all(
      "update threads.escalation set overdue = true, owner = $3 where workspace_id = $1 and escalation_id = $2",
      ...[id, owner],
    );
  }

  async eraseMessages(threadId: string, beforeMs: number, limit: number): Promise<number> {
    const erased = await this.all(
      `update threads.message set body = '', metadata = null, erased_at = clock_timestamp()
       where workspace_id = $1 and thread_id = $2 and seq in (select m.seq from threads.message m
         where m.workspace_id = $1 and m.thread_id = $2 and m.erased_at is null
           and m.created_at < to_timestamp($3::float8 / 1000) order by m.seq limit $4) returning seq`,
      ...[threadId, beforeMs, limit],
    );
    return erased.length;
  }

  async audit(entry: Omit<t.AuditEntry, "seq" | "at">): Promise<void> {
    const head = await this.one(
      `insert into threads.workspace (workspace_id, audit_seq) values ($1, 1)
       on conflict (workspace_id) do update set audit_seq = workspace.audit_seq + 1
       returning audit_seq, audit_head, date_trunc('milliseconds', clock_timestamp()) as now`,
    );
    const at = rows.timeOf(head, "now");
    const prev = head?.["audit_head"] as string;
    const full = { ...entry, seq: head?.["audit_seq"] as number, at };
    const hash = auditHash(prev, full);
    await this.all(
      `with moved as (update threads.workspace set audit_head = $10 where workspace_id = $1)
       insert into threads.audit (workspace_id, seq, at, actor, actor_session, action, thread_id, correlation_id, detail,
         hash, prev_hash) values ($1, $2, to_timestamp($3::float8 / 1000), $4, $5, $6, $7, $8, $9, $10, $11)`,
      ...[full.seq, at, entry.actor, entry.actorSession, entry.action, entry.threadId ?? null],
      ...[entry.correlationId, JSON.stringify(entry.detail), hash, prev],
    );
  }

  async savePolicy(patch: t.Metadata): Promise<void> {
    await this.all(
      `insert into threads.workspace (workspace_id, policy) values ($1, $2)
       on conflict (workspace_id) do update set policy = workspace.policy || excluded.policy`,
      JSON.stringify(patch),
    );
  }

  async revoke(kind: "jti" | "session", value: string, untilMs: number): Promise<void> {
    await this.all(
      `insert into threads.revoked (workspace_id, kind, value, until) values ($1, $2, $3, to_timestamp($4::float8 / 1000))
       on conflict (workspace_id, kind, value) do update set until = greatest(revoked.until, excluded.until)`,
      ...[kind, value, untilMs],
    );
  }

  async pause(
    what: { readonly agent: string | undefined; readonly threadId: string | undefined },
    untilMs: number | null,
  ): Promise<void> {
    const until = "to_timestamp($2::float8 / 1000)";
    if (what.threadId !== undefined) {
      await this.all(
        `update threads.thread set paused_until = ${until} where workspace_id = $1 and thread_id = $3`,
        ...[untilMs, what.threadId],
      );
    } else if (what.agent !== undefined) {
      await this.all(
        `insert into threads.agent (workspace_id, agent_id, paused_until) values ($1, $3, ${until})
         on conflict (workspace_id, agent_id) do update set paused_until = excluded.paused_until`,
        ...[untilMs, what.agent],
      );
    } else {
      await this.all(
        `insert into threads.workspace (workspace_id, paused_until) values ($1, ${until})
         on conflict (workspace_id) do update set paused_until = excluded.paused_until`,
        untilMs,
      );
    }
  }

  async setWakeState(wakeId: string, state: t.WakeState, outcome: string): Promise<void> {
    await this.all(
      `update threads.wake set state = $3, last_outcome = $4, lease_by = null, lease_until = null
       where workspace_id = $1 and wake_id = $2`,
      ...[wakeId, state, outcome],
    );
  }
}
