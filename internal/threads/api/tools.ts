import type { Principal } from "../domain/types.ts";
import type { ServiceDeps } from "../service/access.ts";
import { escalateThread } from "../service/escalate.ts";
import { postMessage } from "../service/post.ts";
import { acknowledge, readMessages } from "../service/read.ts";
import { searchMessages, summarizeThread } from "../service/recall.ts";
import { heartbeatSession, whoami } from "../service/sessions.ts";
import { updateThreadStatus } from "../service/status.ts";
import { createThread, getThread, listThreads, manageParticipants } from "../service/threads.ts";
import { triggerParticipant } from "../service/trigger.ts";
import { CLAIM_PATTERNS } from "./claims.ts";
import {
  anyObjectField,
  arrayField,
  booleanField,
  enumField,
  type Fields,
  integerField,
  objectField,
  objectSchema,
  stringField,
} from "./fields.ts";

/** An operation: its input, its output and its implementation. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly fields: Fields;
  readonly required: readonly string[];
  readonly output: Readonly<Record<string, unknown>>;
  readonly readOnly: boolean;
  readonly idempotent: boolean;
  /** `input` has been checked against `fields`. */
  readonly run: (deps: ServiceDeps, caller: Principal, input: never, signal: AbortSignal) => Promise<object>;
}

const SEQ = Number.MAX_SAFE_INTEGER;
const THREAD_STATUSES = ["active", "blocked", "resolved", "closed"];

export const id = stringField({ min: 1, max: 64, pattern: /^[A-Za-z0-9_-]{1,64}$/ });
export const agent = stringField({ min: 1, max: 256, pattern: CLAIM_PATTERNS.agent_id });
const role = stringField({ min: 1, max: 64, pattern: CLAIM_PATTERNS.role });
/** Empty: the thread has no owner. */
const owner = stringField({ max: 256, pattern: /^([A-Za-z0-9][A-Za-z0-9._/-]{0,255})?$/ });
const type = stringField({ min: 1, max: 64, pattern: /^[a-z][a-z0-9_.]{0,63}$/ });
const key = stringField({ min: 1, max: 128 });
const cursor = stringField({ min: 1, max: 512 });
const time = stringField({ min: 1, max: 64 });
const status = enumField(THREAD_STATUSES);
const metadata = anyObjectField(16_384, 8);
const member = objectField({ agent_id: agent, role }, ["agent_id"]);
const seq = integerField(0, SEQ);

const thing = { type: "object" };
const things = { type: "array", items: thing };
const string = { type: "string" };
const strings = { type: "array", items: string };
const number = { type: "integer" };
const flag = { type: "boolean" };

function answer(properties: Readonly<Record<string, object>>, optional: readonly string[] = []) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required };
}

/** All tools, in the order in which they are listed. */
export const TOOLS: readonly Tool[] = [
  {
    name: "create_thread",
    description: "Start a conversation. You are its first participant. Only messages wake the others.",
    fields: {
      title: stringField({ min: 1, max: 200 }),
      participants: arrayField(member, 64),
      owner,
      metadata,
      idempotency_key: key,
    },
    required: ["title"],
    output: answer({ thread: thing }),
    ...{ readOnly: false, idempotent: false, run: createThread },
  },
  {
    name: "get_thread",
    description: "State and participants of a thread, and how much of it you have not seen.",
    fields: { thread_id: id },
    required: ["thread_id"],
    output: answer({ thread: thing, participants: things, unread_count: number, last_seen_seq: number }),
    ...{ readOnly: true, idempotent: true, run: getThread },
  },
  {
    name: "list_threads",
    description: "Your threads, most recently changed first.",
    fields: { status: arrayField(status, 4), unread_only: booleanField, owner, limit: integerField(1, 100), cursor },
    required: [],
    output: answer({ threads: things, next_cursor: string, unread_total: number }, ["next_cursor"]),
    ...{ readOnly: true, idempotent: true, run: listThreads },
  },
  {
    name: "post_message",
    description:
      "Write into a thread: to all, to agents (to) or roles (to_role). Idle recipients are woken. " +
      "event_type finding_reported, fix_pushed (metadata.commit or ref, fixes), re_review_requested, question, answer, decision, resolved. " +
      "ack_seq acknowledges what you have handled.",
    fields: {
      thread_id: id,
      text: stringField({ min: 1, max: 65_536, maxBytes: 65_536 }),
      ...{
        to: arrayField(agent, 64),
        to_role: arrayField(role, 16),
        in_reply_to: id,
        event_type: type,
        event_version: integerField(1, 1000),
      },
      ...{
        metadata,
        urgency: enumField(["quiet", "normal", "urgent", "interrupt"]),
        idempotency_key: key,
        ack_seq: seq,
      },
    },
    required: ["thread_id", "text"],
    output: answer({ message_id: string, seq: number, duplicate: flag, recipients: strings, thread_status: string }),
    ...{ readOnly: false, idempotent: false, run: postMessage },
  },
  {
    name: "read_messages",
    description:
      "New messages of a thread, or of all your threads. wait_ms waits for one. Reading does not acknowledge: " +
      "when you have handled them, use ack_read or ack_seq.",
    fields: {
      ...{ thread_id: id, after_seq: seq, limit: integerField(1, 200), wait_ms: integerField(0, 25_000) },
      ...{ sender: agent, event_type: type, ack_seq: seq },
    },
    required: [],
    output: answer(
      {
        ...{ messages: things, next_after_seq: number, last_seq: number, unread_count: number, last_seen_seq: number },
        ...{ thread_status: string, timed_out: flag },
      },
      ["thread_status"],
    ),
    ...{ readOnly: false, idempotent: true, run: readMessages },
  },
  {
    name: "ack_read",
    description: "Acknowledge a thread up to seq, once you have handled it.",
    fields: { thread_id: id, seq },
    required: ["thread_id", "seq"],
    output: answer({ last_seen_seq: number, unread_count: number }),
    ...{ readOnly: false, idempotent: true, run: acknowledge },
  },
  {
    name: "update_thread_status",
    description:
      "Change a thread's status, dispute, need for a human decision, or owner. expected_version is the thread's version.",
    fields: {
      ...{
        thread_id: id,
        expected_version: integerField(1, 2_147_483_647),
        status,
        reason: stringField({ max: 1000 }),
      },
      ...{ disputed: booleanField, needs_human_decision: booleanField, owner },
    },
    required: ["thread_id", "expected_version"],
    output: answer({ thread: thing }),
    ...{ readOnly: false, idempotent: false, run: updateThreadStatus },
  },
  {
    name: "summarize_thread",
    description: "A digest of a thread; with text, store your own summary of it.",
    fields: {
      ...{
        thread_id: id,
        max_bytes: integerField(256, 16_384),
        text: stringField({ min: 1, max: 16_384, maxBytes: 16_384 }),
      },
      covers_seq: seq,
    },
    required: ["thread_id"],
    output: answer({ text: string, covers_seq: number, open_findings: things, decisions: things, by: string }),
    ...{ readOnly: false, idempotent: false, run: summarizeThread },
  },
  {
    name: "search_messages",
    description: "Find messages by words, thread, sender, event type, thread status and time (RFC 3339).",
    fields: {
      ...{ query: stringField({ max: 500 }), thread_id: id, sender: agent, event_type: type, status },
      ...{ since: time, until: time, limit: integerField(1, 100), cursor },
    },
    required: [],
    output: answer({ hits: things, next_cursor: string }, ["next_cursor"]),
    ...{ readOnly: true, idempotent: true, run: searchMessages },
  },
  {
    name: "escalate_thread",
    description: "Ask the owner, the orchestrator or people for a decision. The thread's digest is attached.",
    fields: {
      thread_id: id,
      reason: stringField({ min: 1, max: 1000 }),
      severity: enumField(["low", "medium", "high"]),
      owner: agent,
    },
    required: ["thread_id", "reason", "severity"],
    output: answer({ escalation_id: string, owner: string, context: thing }),
    ...{ readOnly: false, idempotent: true, run: escalateThread },
  },
  {
    name: "manage_participants",
    description: "Add or remove participants; wake selects the messages that wake you.",
    fields: {
      ...{ thread_id: id, add: arrayField(member, 64), remove: arrayField(agent, 64) },
      wake: enumField(["all", "directed", "never"]),
    },
    required: ["thread_id"],
    output: answer({ participants: things }),
    ...{ readOnly: false, idempotent: true, run: manageParticipants },
  },
  {
    name: "heartbeat_session",
    description: "Report that your session is alive.",
    fields: { agent_session_id: stringField({ min: 1, max: 128, pattern: /^[A-Za-z0-9._-]{1,128}$/ }) },
    required: [],
    output: answer({ session_id: string, managed: flag, state: string, unread_total: number, server_time: string }),
    ...{ readOnly: false, idempotent: true, run: heartbeatSession },
  },
  {
    name: "trigger_participant",
    description: "Wake a participant now, for a reason.",
    fields: { thread_id: id, agent_id: agent, reason: stringField({ min: 1, max: 1000 }), force: booleanField },
    required: ["thread_id", "agent_id", "reason"],
    output: answer({ wake_id: string, state: string, outcome: string, blocked_by: string }, ["outcome", "blocked_by"]),
    ...{ readOnly: false, idempotent: false, run: triggerParticipant },
  },
  {
    name: "whoami",
    description: "Your identity, the expiry of your token, and the limits.",
    fields: {},
    required: [],
    output: answer({
      ...{ agent_id: string, role: string, kind: string, workspace_id: string, session_id: string, managed: flag },
      ...{ expires_at: string, api_version: string, limits: thing },
    }),
    ...{ readOnly: true, idempotent: true, run: whoami },
  },
];

const BY_NAME: ReadonlyMap<string, Tool> = new Map(TOOLS.map((tool) => [tool.name, tool]));

export function toolNamed(name: string): Tool | undefined {
  return BY_NAME.get(name);
}

/** The tools as MCP lists them. */
export const LISTED_TOOLS = TOOLS.map(({ name, description, fields, required, output, readOnly, idempotent }) => ({
  name,
  description,
  inputSchema: objectSchema(fields, required),
  outputSchema: output as { readonly type: "object" },
  annotations: { readOnlyHint: readOnly, idempotentHint: idempotent },
}));
