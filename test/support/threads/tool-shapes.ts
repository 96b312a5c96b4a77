import { z } from "zod";

/** Exactly the interfaces' fields: a missing, unspecified or wrongly typed field is a fault. */

const id = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);
const time = z.iso.datetime({ precision: 3 });
const count = z.int().nonnegative();
const status = z.enum(["active", "blocked", "resolved", "closed"]);
const kind = z.enum(["agent", "person"]);
const object = z.record(z.string(), z.unknown());

const THREAD = {
  ...{ thread_id: id, title: z.string(), status, status_reason: z.string(), disputed: z.boolean() },
  ...{ needs_human_decision: z.boolean(), owner: z.string(), created_by: z.string(), version: z.int().positive() },
  ...{ last_seq: count, created_at: time, updated_at: time },
};
const thread = z.strictObject(THREAD);
const participant = z.strictObject({
  ...{ agent_id: z.string(), role: z.string(), kind, known: z.boolean(), wake: z.enum(["all", "directed", "never"]) },
  ...{ read_seq: count, last_seen_seq: count },
});
const message = z.strictObject({
  ...{ message_id: id, thread_id: id, seq: z.int().positive(), created_at: time },
  sender: z.strictObject({
    ...{ agent_id: z.string(), role: z.string(), kind: z.enum(["agent", "person", "system"]), session_id: z.string() },
  }),
  ...{ kind: z.enum(["chat", "event", "system"]), text: z.string(), event_type: z.string().optional() },
  ...{ event_version: z.int().positive().optional(), schema_version: z.literal(1), metadata: object.optional() },
  ...{ to: z.array(z.string()).optional(), to_role: z.array(z.string()).optional() },
  ...{ recipients: z.array(z.string()).optional(), in_reply_to: id.optional(), erased: z.literal(true).optional() },
  ...{ urgency: z.enum(["quiet", "normal", "urgent", "interrupt"]), hop: count },
});
const summary = { text: z.string(), covers_seq: count };

/** The answer of each tool. */
export const ANSWERS: Readonly<Record<string, z.ZodType>> = {
  create_thread: z.strictObject({ thread }),
  get_thread: z.strictObject({
    ...{ thread, participants: z.array(participant), unread_count: count, last_seen_seq: count },
  }),
  list_threads: z.strictObject({
    threads: z.array(z.strictObject({ ...THREAD, unread_count: count })),
    ...{ next_cursor: z.string().optional(), unread_total: count },
  }),
  post_message: z.strictObject({
    ...{ message_id: id, seq: z.int().positive(), duplicate: z.boolean() },
    ...{ recipients: z.array(z.string()), thread_status: status },
  }),
  read_messages: z.strictObject({
    ...{ messages: z.array(message), next_after_seq: count, last_seq: count, unread_count: count },
    ...{ last_seen_seq: count, thread_status: status.optional(), timed_out: z.boolean() },
  }),
  ack_read: z.strictObject({ last_seen_seq: count, unread_count: count }),
  update_thread_status: z.strictObject({ thread }),
  summarize_thread: z.strictObject({
    ...{ ...summary, open_findings: z.array(message), decisions: z.array(message), by: z.string() },
  }),
  search_messages: z.strictObject({ hits: z.array(message), next_cursor: z.string().optional() }),
  escalate_thread: z.strictObject({ escalation_id: id, owner: z.string(), context: object }),
  manage_participants: z.strictObject({ participants: z.array(participant) }),
  heartbeat_session: z.strictObject({
    ...{ session_id: z.string(), managed: z.boolean(), state: z.enum(["live", "stale", "ended"]) },
    ...{ unread_total: count, server_time: time },
  }),
  trigger_participant: z.strictObject({
    ...{ wake_id: id, state: z.string(), outcome: z.string().optional(), blocked_by: z.string().optional() },
  }),
  whoami: z.strictObject({
    ...{ agent_id: z.string(), role: z.string(), kind, workspace_id: z.string(), session_id: z.string() },
    ...{ managed: z.boolean(), expires_at: time, api_version: z.literal("v1"), limits: z.record(z.string(), count) },
  }),
};

/** An error of any tool. */
export const ERROR = z.strictObject({
  error: z.strictObject({ code: z.string(), message: z.string().min(1), retryable: z.boolean(), details: object }),
});
