import { checkEvent } from "../domain/events.ts";
import { threadsError } from "../domain/faults.ts";
import { payloadHash } from "../domain/hashes.ts";
import { newId } from "../domain/ids.ts";
import { type GuardRule, guard } from "../domain/loop-guard.ts";
import { recipientsOf } from "../domain/route.ts";
import type { StoredPost, Tx } from "../domain/store.ts";
import type { Message, Principal, ThreadStatus } from "../domain/types.ts";
import { type PlannedWake, planWakes } from "../domain/wake-plan.ts";
import { type Opened, openThread, type ServiceDeps } from "./access.ts";
import { escalateIn } from "./escalate.ts";
import { note } from "./note.ts";
import { appendSystemMessage } from "./system-messages.ts";
import type { PostInput, PostOutput } from "./wire.ts";

/**
 * Stores a message, plans its wakes and applies the loop guard, in one transaction.
 * @throws DomainError with the codes of `docs/protocols/threads.md`; then nothing is stored, or the outcome of the
 * commit is unknown (UNAVAILABLE)
 */
export async function postMessage(deps: ServiceDeps, caller: Principal, input: PostInput): Promise<PostOutput> {
  const eventVersion =
    input.event_type === undefined ? undefined : checkEvent(input.event_type, input.event_version, input.metadata);
  const { output, agents, rule } = await deps.store.write(caller.workspace, async (tx) => {
    const locked = await tx.lockThread(input.thread_id);
    const opened = await openThread(tx, caller, locked?.thread, input.thread_id, "write");
    const hash = payloadHash({ ...input, idempotency_key: undefined, ack_seq: undefined });
    const before = await earlier(tx, caller, input, hash);
    if (before !== undefined) return { output: answer(before.message, opened, true), agents: [], rule: undefined };
    checkMayPost(opened, caller, input);
    if (caller.kind === "agent") deps.limiter.take(caller.workspace, caller.agent, opened.policy.posts_per_minute);
    const stored = await store(tx, caller, input, opened, eventVersion, hash);
    const rule = await guarded(tx, caller, opened, stored.message, locked?.now ?? 0);
    const after = rule === undefined ? opened.thread.status : "blocked";
    const planned = planWakes(
      stored.message,
      { status: after, byGuard: rule !== undefined || byGuard(opened), orchestrator: opened.policy.orchestrator },
      stored.members,
    );
    const why = `message ${stored.message.messageId}`;
    // Locks the rows of wakes in alphabetical order of their agents; the caller's own rows are among them.
    const goesFirst = (one: PlannedWake) => one.agentId < caller.agent;
    await tx.wantWakes(planned.filter(goesFirst), why);
    await tx.acknowledgeWakes(caller.agent);
    await tx.wantWakes(
      planned.filter((one) => !goesFirst(one)),
      why,
    );
    if (rule !== undefined) await blockLoop(tx, caller, opened, rule);
    return {
      output: answer(stored.message, { ...opened, status: after }, false),
      agents: stored.members.map((one) => one.agentId),
      rule,
    };
  });
  if (rule !== undefined) deps.counts?.loopBlocked(rule);
  if (!output.duplicate) {
    deps.changes.publish({ workspace: caller.workspace, kind: "message", threadId: input.thread_id, agents });
  }
  return output;
}

async function earlier(tx: Tx, caller: Principal, input: PostInput, hash: string): Promise<StoredPost | undefined> {
  const key = input.idempotency_key;
  if (key === undefined) return undefined;
  const found = await tx.postByKey(input.thread_id, caller.agent, key);
  if (found === undefined || found.payloadHash === hash) return found;
  throw threadsError("IDEMPOTENCY_CONFLICT", `the key ${JSON.stringify(key)} was used for another message`, {
    message_id: found.message.messageId,
  });
}

function checkMayPost({ thread, role }: Opened, caller: Principal, input: PostInput): void {
  if (thread.status === "closed") {
    throw threadsError("THREAD_CLOSED", `thread ${thread.threadId} is closed`, {
      hint: "an operator can reopen it",
    });
  }
  const commands = role === "operator" || role === "orchestrator";
  if (thread.status === "blocked" && thread.guard.blockedBy === "guard" && !commands) {
    throw threadsError("THREAD_AUTO_BLOCKED", `the loop guard has blocked the thread: ${thread.statusReason}`, {
      hint: "an orchestrator or an operator can set it to active",
      rule: thread.statusReason,
    });
  }
  if (input.urgency === "interrupt" && !commands) {
    throw threadsError(
      "INSUFFICIENT_AUTHORITY",
      `${caller.agent} may not interrupt: that is for orchestrator and operator`,
    );
  }
}

async function store(
  tx: Tx,
  caller: Principal,
  input: PostInput,
  { thread, participants, me }: Opened,
  eventVersion: number | undefined,
  hash: string,
) {
  const { thread_id: threadId, text, to, to_role: toRole, event_type: eventType, metadata } = input;
  if (me === undefined) await tx.join(threadId, caller.agent, "");
  const members = me === undefined ? await tx.participants(threadId) : participants;
  const recipients = recipientsOf({ to, toRole }, members);
  const inReplyTo = input.in_reply_to;
  if (inReplyTo !== undefined && (await tx.message(threadId, inReplyTo)) === undefined) {
    throw threadsError("NOT_FOUND", `the thread has no message ${inReplyTo} to reply to`, { message_id: inReplyTo });
  }
  const hop = caller.kind === "person" ? 0 : await hopOf(tx, caller.agent, me?.lastHop ?? 0);
  if (input.ack_seq !== undefined) {
    const acked = Math.min(input.ack_seq, thread.lastSeq);
    await tx.mark(threadId, caller.agent, { read: acked, acked });
  }
  await tx.answered(threadId, caller.agent, hop);
  const message = await tx.append({
    threadId,
    messageId: newId("m"),
    sender: caller.agent,
    senderRole: caller.role,
    senderKind: caller.kind,
    senderSession: caller.session,
    kind: eventType === undefined ? "chat" : "event",
    text,
    urgency: input.urgency ?? "normal",
    hop,
    ...{ eventType, eventVersion, metadata, inReplyTo, recipients },
    to: to?.length === 0 ? undefined : to,
    toRole: toRole?.length === 0 ? undefined : toRole,
    ...(input.idempotency_key !== undefined && { idemKey: input.idempotency_key, payloadHash: hash }),
  });
  return { message, members };
}

/**
 * The hop of a post: one more than the hop of the message that it answers, or the agent's last hop if it answers no
 * message.
 */
async function hopOf(tx: Tx, agent: string, last: number): Promise<number> {
  const given = await tx.hopGiven(agent);
  return given === undefined ? last : given + 1;
}

async function guarded(
  tx: Tx,
  caller: Principal,
  { thread, policy }: Opened,
  message: Message,
  at: number,
): Promise<GuardRule | undefined> {
  const { eventType, text, metadata, hop } = message;
  const seen = {
    ...{ sender: caller.agent, kind: caller.kind, text, hop, at, eventType, metadata },
  };
  const { state, rule } = guard(thread.guard, seen, policy);
  const isBlocked = thread.status === "blocked";
  // A blocked thread stays blocked by the same agent; only the counters change.
  const kept = isBlocked ? { ...state, blockedBy: thread.guard.blockedBy ?? state.blockedBy } : state;
  await tx.saveGuard(thread.threadId, kept);
  return isBlocked ? undefined : rule;
}

async function blockLoop(tx: Tx, caller: Principal, { thread, participants }: Opened, rule: GuardRule): Promise<void> {
  const { threadId } = thread;
  await tx.patchThread(threadId, { status: "blocked", statusReason: rule });
  await appendSystemMessage(tx, threadId, "loop_blocked", `the loop guard has blocked this thread: ${rule}`, { rule });
  const blocked = (await tx.thread(threadId)) ?? thread;
  const request = {
    severity: "high",
    cause: `loop_${rule}`,
    reason: `the loop guard has blocked the thread: ${rule}`,
  } as const;
  await escalateIn(tx, caller, { thread: blocked, participants }, request);
  await note(tx, caller, "loop_blocked", { rule }, threadId);
}

function byGuard({ thread }: Opened): boolean {
  return thread.status === "blocked" && thread.guard.blockedBy === "guard";
}

function answer(message: Message, opened: Opened & { readonly status?: ThreadStatus }, duplicate: boolean): PostOutput {
  const others = opened.participants.map((one) => one.agentId).filter((one) => one !== message.sender);
  return {
    message_id: message.messageId,
    seq: message.seq,
    duplicate,
    recipients: message.recipients ?? others,
    thread_status: opened.status ?? opened.thread.status,
  };
}
