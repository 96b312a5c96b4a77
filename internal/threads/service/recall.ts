import { digestOf, openFindings } from "../domain/digest.ts";
import { threadsError } from "../domain/faults.ts";
import { cursorOf, positionOf } from "../domain/ids.ts";
import type { Message, Principal } from "../domain/types.ts";
import { openThread, roleClassOf, type ServiceDeps, seesAll } from "./access.ts";
import { postMessage } from "./post.ts";
import { messageView } from "./views.ts";
import type { SearchInput, SummarizeInput } from "./wire.ts";

const LIMIT = 50;
const SUMMARY_BYTES = 4096;
/** The number of newest messages that a digest is made from. */
const DIGEST_MESSAGES = 1000;

/**
 * Returns a digest of the thread. With `text`, stores the text as the caller's own summary, which wakes no one, and
 * returns that summary.
 */
export async function summarizeThread(deps: ServiceDeps, caller: Principal, input: SummarizeInput) {
  const { thread_id: threadId, max_bytes: maxBytes = SUMMARY_BYTES, text, covers_seq: covers } = input;
  const reads = deps.store.reads(caller.workspace);
  const { thread, participants } = await openThread(reads, caller, await reads.thread(threadId), threadId, "read");
  const messages = await reads.lastMessages(threadId, DIGEST_MESSAGES);
  if (text === undefined) {
    const digest = digestOf(thread, participants, messages, maxBytes);
    const by = "system";
    return { ...summaryOf(digest.text, digest.coversSeq, digest.openFindings, digest.decisions), by };
  }
  if (covers !== undefined && covers > thread.lastSeq) {
    throw threadsError("VALIDATION_ERROR", `covers_seq ${covers} is after the last message, ${thread.lastSeq}`);
  }
  const coversSeq = covers ?? thread.lastSeq;
  const event = { event_type: "summary", metadata: { covers_seq: coversSeq }, urgency: "quiet" } as const;
  await postMessage(deps, caller, { thread_id: threadId, text, ...event });
  const decisions = messages.filter((one) => one.eventType === "decision");
  return { ...summaryOf(text, coversSeq, openFindings(messages), decisions), by: caller.agent };
}

function summaryOf(text: string, coversSeq: number, findings: readonly Message[], decisions: readonly Message[]) {
  return {
    text,
    covers_seq: coversSeq,
    open_findings: findings.slice(-50).map(messageView),
    decisions: decisions.slice(-50).map(messageView),
  };
}

/** Searches the threads that the caller may read; newest messages first. */
export async function searchMessages(deps: ServiceDeps, caller: Principal, input: SearchInput) {
  const { query, thread_id: threadId, sender, event_type: eventType, status, limit = LIMIT, cursor } = input;
  const reads = deps.store.reads(caller.workspace);
  const all = seesAll(roleClassOf(caller, await reads.policy()));
  if (threadId !== undefined) await openThread(reads, caller, await reads.thread(threadId), threadId, "read");
  const since = input.since === undefined ? undefined : timeOf("since", input.since);
  const until = input.until === undefined ? undefined : timeOf("until", input.until);
  const [createdAt, messageId] = cursor === undefined ? [] : positionOf(cursor);
  const found = await reads.search({
    limit: limit + 1,
    agent: all ? undefined : caller.agent,
    query: query === "" ? undefined : query,
    ...{ threadId, sender, eventType, status, since, until },
    before: createdAt !== undefined && messageId !== undefined ? { createdAt, messageId } : undefined,
  });
  const hits = found.slice(0, limit);
  const last = hits.at(-1);
  return {
    hits: hits.map(messageView),
    ...(found.length > limit && last && { next_cursor: cursorOf([last.createdAt, last.messageId]) }),
  };
}

function timeOf(name: string, text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw threadsError("VALIDATION_ERROR", `${name} is not a time such as 2026-11-27T10:00:00Z`);
  return time;
}
