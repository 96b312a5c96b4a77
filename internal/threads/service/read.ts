import { within } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import type { Change } from "../domain/changes.ts";
import { threadsCodeOf, threadsError } from "../domain/faults.ts";
import type { Message, Principal } from "../domain/types.ts";
import { type Opened, openThread, type ServiceDeps } from "./access.ts";
import { messageView } from "./views.ts";
import type { ReadInput, ReadOutput } from "./wire.ts";

const LIMIT = 50;
/** Notifications may be lost, so a waiting reader also polls. */
const LOOK_AGAIN_MS = 5000;
const LOOK_AWAY_MS = 500;

/**
 * Returns messages after a position, in order. If none of them is from another sender, waits up to `wait_ms` for such a
 * message.
 */
export async function readMessages(
  deps: ServiceDeps,
  caller: Principal,
  input: ReadInput,
  signal: AbortSignal,
): Promise<ReadOutput> {
  const { thread_id: threadId, ack_seq: ack } = input;
  if (ack !== undefined) {
    if (threadId === undefined) throw threadsError("VALIDATION_ERROR", "ack_seq needs thread_id");
    await acknowledge(deps, caller, { thread_id: threadId, seq: ack });
  }
  const look = () =>
    threadId === undefined ? readInbox(deps, caller, input) : readThread(deps, caller, threadId, input);
  const isNews = ({ messages }: Found) => messages.some((one) => one.sender !== caller.agent);
  const about = (change: Change | undefined) => concerns(change, caller, threadId);
  const { found, timedOut, hasWaited } = await waitFor(deps, look, isNews, about, input.wait_ms ?? 0, signal);
  const at = await markReturned(deps, caller, found, input);
  if (hasWaited && at !== undefined) {
    for (const { createdAt, sender } of found.messages)
      if (sender !== caller.agent) deps.counts?.visible(at - createdAt);
  }
  return { ...found.answer, messages: found.messages.map(messageView), timed_out: timedOut };
}

interface Found {
  readonly messages: readonly Message[];
  readonly opened?: Opened;
  readonly answer: Omit<ReadOutput, "messages" | "timed_out">;
}

async function readThread(deps: ServiceDeps, caller: Principal, threadId: string, input: ReadInput): Promise<Found> {
  const reads = deps.store.reads(caller.workspace);
  const opened = await openThread(reads, caller, await reads.thread(threadId), threadId, "read");
  const { thread, me } = opened;
  const lastSeen = me?.ackedSeq ?? 0;
  const afterSeq = input.after_seq ?? lastSeen;
  const messages = await reads.messages({
    ...{ threadId, afterSeq, limit: input.limit ?? LIMIT },
    ...{ sender: input.sender, eventType: input.event_type },
  });
  const answer = {
    next_after_seq: messages.at(-1)?.seq ?? afterSeq,
    last_seq: Math.max(thread.lastSeq, messages.at(-1)?.seq ?? 0),
    unread_count: me === undefined ? 0 : await reads.unread(threadId, caller.agent),
    last_seen_seq: lastSeen,
    thread_status: thread.status,
  };
  return { messages, opened, answer };
}

async function readInbox(deps: ServiceDeps, caller: Principal, input: ReadInput): Promise<Found> {
  if (input.after_seq !== undefined) throw threadsError("VALIDATION_ERROR", "after_seq needs thread_id");
  const reads = deps.store.reads(caller.workspace);
  const all = await reads.inbox(caller.agent, input.limit ?? LIMIT);
  const { sender, event_type: type } = input;
  const messages = all.filter(
    (one) => (sender === undefined || one.sender === sender) && (type === undefined || one.eventType === type),
  );
  const unread = await reads.unreadTotal(caller.agent);
  return { messages, answer: { next_after_seq: 0, last_seq: 0, unread_count: unread, last_seen_seq: 0 } };
}

async function waitFor(
  deps: ServiceDeps,
  look: () => Promise<Found>,
  isNews: (found: Found) => boolean,
  about: (change: Change | undefined) => boolean,
  waitMs: number,
  signal: AbortSignal,
): Promise<{ readonly found: Found; readonly timedOut: boolean; readonly hasWaited: boolean }> {
  const found = waitMs > 0 ? await unlessAway(look) : await look();
  if (found !== undefined && (waitMs <= 0 || isNews(found))) return { found, timedOut: false, hasWaited: false };
  let news = Promise.withResolvers<void>();
  using _heard = deps.changes.subscribe((change) => about(change) && news.resolve());
  const endsAt = deps.clock.monotonicMs() + waitMs;
  for (;;) {
    const seen = await unlessAway(look);
    if (seen !== undefined && isNews(seen)) return { found: seen, timedOut: false, hasWaited: true };
    const pauseMs = seen === undefined ? LOOK_AWAY_MS : LOOK_AGAIN_MS;
    const leftMs = endsAt - deps.clock.monotonicMs();
    if (leftMs > 0) await within(deps.clock, Math.min(pauseMs, leftMs), news.promise, signal);
    signal.throwIfAborted();
    news = Promise.withResolvers<void>();
    if (deps.clock.monotonicMs() < endsAt) continue;
    const last = await look();
    return { found: last, timedOut: !isNews(last), hasWaited: isNews(last) };
  }
}

/** Undefined: the database is unavailable. A waiting reader then tries again. */
async function unlessAway(look: () => Promise<Found>): Promise<Found | undefined> {
  try {
    return await look();
  } catch (err) {
    if (err instanceof DomainError && threadsCodeOf(err) === "UNAVAILABLE") return undefined;
    throw err;
  }
}

function concerns(change: Change | undefined, caller: Principal, threadId: string | undefined): boolean {
  if (change === undefined) return true;
  if (change.workspace !== caller.workspace) return false;
  if (change.kind !== "message" && change.kind !== "thread" && change.kind !== "escalation") return false;
  if (threadId !== undefined) return change.threadId === undefined || change.threadId === threadId;
  return change.agents?.includes(caller.agent) ?? true;
}

/**
 * Marks the returned messages as read, and acknowledges the agent's wakes. If a filter or a later start may have
 * skipped messages, marks none. Returns the database's time, ms; undefined: no message was new.
 */
async function markReturned(
  deps: ServiceDeps,
  caller: Principal,
  found: Found,
  input: ReadInput,
): Promise<number | undefined> {
  const upto = returned(found, input);
  if (upto.size === 0 && !(await deps.store.reads(caller.workspace).hasUnacknowledgedWake(caller.agent)))
    return undefined;
  const at = await deps.store.write(caller.workspace, async (tx) => {
    let now: number | undefined;
    for (const [threadId, read] of [...upto].sort(([a], [b]) => (a < b ? -1 : 1))) {
      now = await tx.mark(threadId, caller.agent, { read });
    }
    await tx.acknowledgeWakes(caller.agent);
    return now;
  });
  const news = { workspace: caller.workspace, kind: "wake", agents: [caller.agent] } as const;
  for (const threadId of upto.keys()) deps.changes.publish({ ...news, threadId });
  if (upto.size === 0) deps.changes.publish(news);
  return at;
}

/** By thread, the last seq to mark as read. Omits threads without new messages or with skipped ones. */
function returned({ messages, opened }: Found, input: ReadInput): ReadonlyMap<string, number> {
  const upto = new Map<string, number>();
  if (input.sender !== undefined || input.event_type !== undefined) return upto;
  for (const { threadId, seq } of messages) upto.set(threadId, Math.max(seq, upto.get(threadId) ?? 0));
  if (opened === undefined) return upto;
  const { me } = opened;
  // During a reminder, messages after `againSeq` count as not given to the agent.
  const given = me?.againSeq ?? me?.readSeq ?? 0;
  const skips = (input.after_seq ?? 0) > given;
  const [seq = 0] = upto.values();
  if (me === undefined || skips || seq <= given) upto.clear();
  return upto;
}

/**
 * Raises the caller's last-seen marker to `seq`; never lowers it. A caller that does not take part joins the thread.
 */
export async function acknowledge(
  deps: ServiceDeps,
  caller: Principal,
  { thread_id: threadId, seq }: { readonly thread_id: string; readonly seq: number },
): Promise<{ readonly last_seen_seq: number; readonly unread_count: number }> {
  const answer = await deps.store.write(caller.workspace, async (tx) => {
    const { thread, me, role } = await openThread(tx, caller, await tx.thread(threadId), threadId, "read");
    if (seq > thread.lastSeq) {
      throw threadsError("VALIDATION_ERROR", `seq ${seq} is after the last message, ${thread.lastSeq}`, {
        last_seq: thread.lastSeq,
      });
    }
    if (me === undefined) {
      if (role === "auditor") throw threadsError("INSUFFICIENT_AUTHORITY", "an auditor may only read");
      await tx.lockThread(threadId);
      await tx.join(threadId, caller.agent, "");
    }
    await tx.mark(threadId, caller.agent, { read: seq, acked: seq });
    await tx.acknowledgeWakes(caller.agent);
    return {
      last_seen_seq: Math.max(seq, me?.ackedSeq ?? 0),
      unread_count: await tx.unread(threadId, caller.agent),
    };
  });
  deps.changes.publish({ workspace: caller.workspace, kind: "wake", threadId, agents: [caller.agent] });
  return answer;
}
