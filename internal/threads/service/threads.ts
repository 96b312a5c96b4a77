import { threadsError } from "../domain/faults.ts";
import { payloadHash } from "../domain/hashes.ts";
import { cursorOf, newId, positionOf } from "../domain/ids.ts";
import type { Principal } from "../domain/types.ts";
import { openThread, roleClassOf, type ServiceDeps, seesAll } from "./access.ts";
import { note } from "./note.ts";
import { appendSystemMessage } from "./system-messages.ts";
import { participantView, threadView } from "./views.ts";
import type { CreateThreadInput, ListThreadsInput, ManageInput, WireParticipant, WireThread } from "./wire.ts";

const LIMIT = 50;

/** Creates a thread. The caller is its first participant. */
export async function createThread(
  deps: ServiceDeps,
  caller: Principal,
  input: CreateThreadInput,
): Promise<{ readonly thread: WireThread }> {
  const { title, participants = [], owner = "", metadata = {}, idempotency_key: idemKey } = input;
  if (caller.role === "auditor") throw threadsError("INSUFFICIENT_AUTHORITY", "an auditor may only read");
  const hash = payloadHash({ ...input, idempotency_key: undefined });
  const thread = await deps.store.write(caller.workspace, async (tx) => {
    const before = idemKey === undefined ? undefined : await tx.threadByKey(caller.agent, idemKey);
    if (before !== undefined) {
      if (before.payloadHash === hash) return before.thread;
      throw threadsError("IDEMPOTENCY_CONFLICT", `the key ${JSON.stringify(idemKey)} was used for another thread`, {
        thread_id: before.thread.threadId,
      });
    }
    const threadId = newId("t");
    const key = idemKey === undefined ? undefined : { idemKey, payloadHash: hash };
    await tx.insertThread({ threadId, title, owner, createdBy: caller.agent, metadata }, key);
    const own = participants.find((one) => one.agent_id === caller.agent);
    await tx.join(threadId, caller.agent, own?.role ?? "");
    for (const one of participants) if (one !== own) await tx.join(threadId, one.agent_id, one.role ?? "");
    const detail = { participants: participants.map((one) => one.agent_id), owner };
    await note(tx, caller, "thread_created", detail, threadId);
    return await tx.thread(threadId);
  });
  if (thread === undefined) throw new Error("a thread is not there after it was stored");
  deps.changes.publish({ workspace: caller.workspace, kind: "thread", threadId: thread.threadId });
  return { thread: threadView(thread) };
}

export async function getThread(deps: ServiceDeps, caller: Principal, input: { readonly thread_id: string }) {
  const reads = deps.store.reads(caller.workspace);
  const threadId = input.thread_id;
  const { thread, participants, me } = await openThread(reads, caller, await reads.thread(threadId), threadId, "read");
  return {
    thread: threadView(thread),
    participants: participants.map(participantView),
    unread_count: me === undefined ? 0 : await reads.unread(threadId, caller.agent),
    last_seen_seq: me?.ackedSeq ?? 0,
  };
}

/** Lists the caller's threads, or all threads for a role that reads every thread; most recently changed first. */
export async function listThreads(deps: ServiceDeps, caller: Principal, input: ListThreadsInput) {
  const reads = deps.store.reads(caller.workspace);
  const all = seesAll(roleClassOf(caller, await reads.policy()));
  const { status, unread_only: unreadOnly, owner, limit = LIMIT, cursor } = input;
  const [updatedAt, threadId] = cursor === undefined ? [] : positionOf(cursor);
  const found = await reads.threads({
    limit: limit + 1,
    ...{ agent: caller.agent, all },
    status: status?.length === 0 ? undefined : status,
    ...{ unreadOnly, owner },
    before: updatedAt !== undefined && threadId !== undefined ? { updatedAt, threadId } : undefined,
  });
  const shown = found.slice(0, limit);
  const last = shown.at(-1)?.thread;
  return {
    threads: shown.map(({ thread, unread }) => threadView(thread, unread)),
    ...(found.length > limit && last && { next_cursor: cursorOf([last.updatedAt, last.threadId]) }),
    unread_total: await reads.unreadTotal(caller.agent),
  };
}

/** Adds and removes participants; `wake` is the caller's own setting. */
export async function manageParticipants(
  deps: ServiceDeps,
  caller: Principal,
  input: ManageInput,
): Promise<{ readonly participants: readonly WireParticipant[] }> {
  const { thread_id: threadId, add = [], remove = [], wake } = input;
  const participants = await deps.store.write(caller.workspace, async (tx) => {
    const locked = await tx.lockThread(threadId);
    const { thread, me, role, participants } = await openThread(tx, caller, locked?.thread, threadId, "write");
    const mayRemove = role !== "worker" || caller.agent === thread.createdBy || caller.agent === thread.owner;
    for (const agent of remove) {
      if (!participants.some((one) => one.agentId === agent)) {
        throw threadsError("UNKNOWN_RECIPIENT", `${JSON.stringify(agent)} is not a participant of the thread`);
      }
      if (agent !== caller.agent && !mayRemove) {
        throw threadsError(
          "INSUFFICIENT_AUTHORITY",
          "others are removed by the thread's creator, its owner, an orchestrator or an operator",
        );
      }
    }
    const fresh = add.filter((one) => !participants.some((there) => there.agentId === one.agent_id));
    for (const { agent_id: agent, role: given } of add) await tx.join(threadId, agent, given ?? "");
    for (const agent of remove) await tx.leave(threadId, agent);
    if (wake !== undefined) {
      if (me === undefined) throw threadsError("FORBIDDEN", "wake is a setting of participants");
      await tx.setWake(threadId, caller.agent, wake);
    }
    for (const { agent_id: agent, role: given = "" } of fresh) {
      await appendSystemMessage(tx, threadId, "participant_joined", `${agent} joined`, {
        agent_id: agent,
        role: given,
        by: caller.agent,
      });
    }
    for (const agent of remove) {
      await appendSystemMessage(tx, threadId, "participant_left", `${agent} left`, {
        agent_id: agent,
        by: caller.agent,
      });
    }
    const detail = { added: add.map((one) => one.agent_id), removed: remove };
    if (add.length + remove.length > 0) await note(tx, caller, "participants", detail, threadId);
    return await tx.participants(threadId);
  });
  deps.changes.publish({ workspace: caller.workspace, kind: "thread", threadId });
  return { participants: participants.map(participantView) };
}
