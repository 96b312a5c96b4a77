import { asText } from "../../../internal/base/json-fields.ts";
import type { ThreadsClient } from "../../../internal/threads/client/threads-client.ts";
import { startThread } from "./threads-server.ts";

/** A call of a tool. `code`: the code of the error that it returns; undefined: it succeeds. */
export interface ToolCall {
  readonly tool: string;
  readonly input: object;
  readonly code?: string | undefined;
}

/** Two others, whose posts do not count towards the agent's limit: a person with the role operator, and an agent. */
export interface Others {
  readonly personId: string;
  readonly mateId: string;
  readonly person: ThreadsClient;
  readonly mate: ThreadsClient;
}

/** Threads that an agent has been given, in the states that its calls need. */
interface Ground extends Pick<Others, "personId" | "mateId"> {
  /** Active, with three messages of the others: a finding, a decision, a question to its role. */
  readonly own: string;
  readonly finding: string;
  /** Without the agent. */
  readonly foreign: string;
  readonly closed: string;
  /** Blocked by the loop guard. */
  readonly blocked: string;
}

/** Has the others prepare the agent's threads. */
export async function toolGround(agent: string, others: Others, signal: AbortSignal): Promise<Ground> {
  const { personId, mateId, person, mate } = others;
  const create = async (title: string, ...agents: string[]) => await startThread(person, title, agents, signal);
  const post = async (by: ThreadsClient, thread_id: string, text: string, more: object = {}) =>
    asText((await by.call("post_message", { thread_id, text, ...more }, signal))["message_id"]);
  const [own, closed, blocked] = [
    await create("own", agent, mateId),
    await create("closed", agent),
    await create("blocked", agent, mateId),
  ];
  const add = [{ agent_id: agent, role: "fixer" }];
  await person.call("manage_participants", { thread_id: own, add }, signal);
  const metadata = { path: "a.ts", line: 3 };
  const finding = await post(mate, own, "NaN", { event_type: "finding_reported", metadata });
  await post(person, own, "we keep it", { event_type: "decision" });
  await post(mate, own, "why?", { event_type: "question", to_role: ["fixer"], in_reply_to: finding });
  const close = { thread_id: closed, expected_version: 1, status: "closed" };
  await person.call("update_thread_status", close, signal);
  for (let at = 0; at < 3; at++) await post(mate, blocked, "thanks");
  return { own, finding, foreign: await create("foreign", mateId), closed, blocked, personId, mateId };
}

type Table = Readonly<Record<string, readonly (readonly [input: object, code?: string])[]>>;

/**
 * Calls of all tools by a worker, to be made in this order; each tool returns every kind of answer and every error.
 */
export function toolCalls(ground: Ground): readonly ToolCall[] {
  const table = { ...ofThreads(ground), ...ofMessages(ground), ...ofStates(ground) };
  return Object.entries(table).flatMap(([tool, calls]) => calls.map(([input, code]) => ({ tool, input, code })));
}

const KEY = { idempotency_key: "k" };

function ofThreads({ own: thread_id, foreign, closed, blocked, mateId }: Ground): Table {
  const title = { title: "made by a tool", participants: [{ agent_id: mateId }], owner: mateId, metadata: { a: [1] } };
  return {
    create_thread: [
      ...([[{ ...title, ...KEY }], [{ ...title, ...KEY }], [{ title: "x" }]] as const),
      [{ title: "another", ...KEY }, "IDEMPOTENCY_CONFLICT"],
      [{}, "VALIDATION_ERROR"],
    ],
    get_thread: [
      ...([[{ thread_id }], [{ thread_id: closed }], [{ thread_id: blocked }]] as const),
      [{ thread_id: foreign }, "FORBIDDEN"],
      [{ thread_id: "t-none" }, "NOT_FOUND"],
      [{ thread_id: "../x" }, "VALIDATION_ERROR"],
    ],
    list_threads: [
      ...([[{}], [{ limit: 1 }], [{ unread_only: true, status: ["active", "blocked"], owner: mateId }]] as const),
      [{ cursor: "none" }, "VALIDATION_ERROR"],
    ],
  };
}

function ofMessages({ own: thread_id, finding, foreign, closed, blocked, mateId }: Ground): Table {
  const full = {
    ...{ thread_id, text: "done", to: [mateId], in_reply_to: finding, ack_seq: 2, urgency: "urgent", ...KEY },
    ...{ event_type: "fix_pushed", event_version: 1, metadata: { commit: "c1", fixes: [finding] } },
  };
  return {
    read_messages: [
      ...([[{ thread_id, after_seq: 0 }], [{ thread_id: blocked, after_seq: 0 }], [{}], [{ wait_ms: 10 }]] as const),
      ...([
        [{ thread_id, after_seq: 3, wait_ms: 10 }],
        [{ thread_id, sender: mateId, event_type: "question" }],
      ] as const),
      [{ thread_id, ack_seq: 1, limit: 1 }],
      [{ after_seq: 1 }, "VALIDATION_ERROR"],
      [{ session_id: "s-other" }, "CLAIM_MISMATCH"],
    ],
    post_message: [
      ...([[full], [full], [{ thread_id, text: "plain" }]] as const),
      [{ ...full, text: "other" }, "IDEMPOTENCY_CONFLICT"],
      [{ thread_id, text: "x", to: ["nobody"] }, "UNKNOWN_RECIPIENT"],
      [{ thread_id, text: "x", to_role: ["painter"] }, "UNKNOWN_RECIPIENT"],
      [{ thread_id, text: "x", sender: mateId }, "CLAIM_MISMATCH"],
      [{ thread_id, text: "x", workspace_id: "other" }, "OUT_OF_SCOPE_WORKSPACE"],
      [{ thread_id, text: "x", urgency: "interrupt" }, "INSUFFICIENT_AUTHORITY"],
      [{ thread_id, text: "x", event_type: "fix_pushed" }, "VALIDATION_ERROR"],
      [{ thread_id: foreign, text: "x" }, "FORBIDDEN"],
      [{ thread_id: closed, text: "x" }, "THREAD_CLOSED"],
      [{ thread_id: blocked, text: "x" }, "THREAD_AUTO_BLOCKED"],
    ],
    ack_read: [[{ thread_id, seq: 3 }], [{ thread_id, seq: 1 }], [{ thread_id, seq: 99 }, "VALIDATION_ERROR"]],
    summarize_thread: [
      ...([[{ thread_id }], [{ thread_id, text: "one is open", covers_seq: 3 }]] as const),
      [{ thread_id, max_bytes: 256 }],
      [{ thread_id, text: "x", covers_seq: 999 }, "VALIDATION_ERROR"],
    ],
    search_messages: [
      ...([[{ query: "why" }], [{ limit: 1 }], [{ thread_id, since: "2020-01-01T00:00:00Z" }]] as const),
      [{ since: "yesterday" }, "VALIDATION_ERROR"],
      [{ thread_id: foreign }, "FORBIDDEN"],
    ],
  };
}

function ofStates({ own: thread_id, personId, mateId }: Ground): Table {
  return {
    update_thread_status: [
      [{ thread_id, expected_version: 1, status: "blocked", reason: "I wait", owner: mateId }],
      [{ thread_id, expected_version: 1, status: "active" }, "CONFLICT"],
      [{ thread_id, expected_version: 2, status: "blocked" }, "INVALID_TRANSITION"],
      [{ thread_id, expected_version: 2, status: "closed" }, "INSUFFICIENT_AUTHORITY"],
      [{ thread_id, expected_version: 2 }, "VALIDATION_ERROR"],
      [{ thread_id, expected_version: 2, status: "active", disputed: true, needs_human_decision: true }],
    ],
    escalate_thread: [
      ...([[{ thread_id, reason: "stuck", severity: "high", owner: mateId }]] as const),
      [{ thread_id, reason: "stuck", severity: "dire" }, "VALIDATION_ERROR"],
    ],
    manage_participants: [
      [{ thread_id, add: [{ agent_id: "town/new", role: "tester" }], wake: "directed" }],
      [{ thread_id, remove: ["nobody"] }, "UNKNOWN_RECIPIENT"],
    ],
    heartbeat_session: [
      ...([[{}], [{ agent_session_id: "conversation-1" }]] as const),
      [{ agent_session_id: "" }, "VALIDATION_ERROR"],
    ],
    trigger_participant: [
      [{ thread_id, agent_id: mateId, reason: "look" }],
      [{ thread_id, agent_id: "nobody", reason: "look" }, "UNKNOWN_RECIPIENT"],
      [{ thread_id, agent_id: personId, reason: "look" }, "UNMANAGED_RUNTIME"],
      [{ thread_id, agent_id: mateId, reason: "look", force: true }, "INSUFFICIENT_AUTHORITY"],
    ],
    whoami: [[{}], [{ me: true }, "VALIDATION_ERROR"]],
  };
}
