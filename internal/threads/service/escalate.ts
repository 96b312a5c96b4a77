import { escalationOwner, ownerWake } from "../domain/escalation.ts";
import { escalationContext } from "../domain/escalation-context.ts";
import { newId } from "../domain/ids.ts";
import type { Tx } from "../domain/store.ts";
import type { Metadata, Participant, Principal, Severity, Thread } from "../domain/types.ts";
import { openThread, type ServiceDeps } from "./access.ts";
import { note } from "./note.ts";
import { appendSystemMessage } from "./system-messages.ts";
import type { EscalateInput } from "./wire.ts";

interface Request {
  readonly severity: Severity;
  readonly cause: string;
  readonly reason: string;
  readonly owner?: string | undefined;
}

/** A thread that the transaction has locked, with its participants. */
export interface LockedThread {
  readonly thread: Thread;
  readonly participants: readonly Participant[];
}

export async function escalateThread(deps: ServiceDeps, caller: Principal, input: EscalateInput) {
  const { thread_id: threadId, reason, severity, owner } = input;
  const escalation = await deps.store.write(caller.workspace, async (tx) => {
    const locked = await tx.lockThread(threadId);
    const opened = await openThread(tx, caller, locked?.thread, threadId, "write");
    const request = { severity, cause: "requested", reason, owner };
    const made = await escalateIn(tx, caller, opened, request);
    const detail = { escalation_id: made.escalationId, severity, owner: made.owner };
    await note(tx, caller, "escalated", detail, threadId);
    return made;
  });
  deps.changes.publish({ workspace: caller.workspace, kind: "escalation", threadId });
  return { escalation_id: escalation.escalationId, owner: escalation.owner, context: escalation.context };
}

/**
 * Escalates within a transaction that has locked the thread. A thread has one unresolved escalation for each cause;
 * only a new escalation is announced in the thread and wakes its owner.
 */
export async function escalateIn(
  tx: Tx,
  caller: Principal,
  { thread, participants }: LockedThread,
  { severity, cause, reason, owner }: Request,
) {
  const { orchestrator, escalation_sla: dueInMs } = await tx.policy();
  const whose = escalationOwner({ named: owner, threadOwner: thread.owner, orchestrator, members: participants });
  const messages = await tx.lastMessages(thread.threadId, 200);
  const { escalation, isNew } = await tx.escalate({
    escalationId: newId("e"),
    threadId: thread.threadId,
    ...{ severity, cause, reason, owner: whose },
    context: escalationContext(thread, participants, messages, caller.correlationId),
    dueInMs,
  });
  if (isNew) {
    const facts = { escalation_id: escalation.escalationId, severity, cause, owner: whose };
    const news = { eventType: "escalated", text: `escalated to ${whose}: ${reason}`, facts };
    const wakeReason = `escalation ${escalation.escalationId}`;
    await sayToOwners(tx, caller, { thread, participants }, [whose], { ...news, orchestrator, wakeReason });
  }
  return escalation;
}

interface OwnersNews {
  readonly eventType: string;
  readonly text: string;
  readonly facts: Metadata;
  /** The agent that the policy names; empty: none. */
  readonly orchestrator: string;
  readonly wakeReason: string;
}

/**
 * Appends a system message and wakes these owners for it. The policy's orchestrator joins the thread before it is
 * woken.
 */
export async function sayToOwners(
  tx: Tx,
  caller: Principal,
  { thread, participants }: LockedThread,
  owners: readonly string[],
  { eventType, text, facts, orchestrator, wakeReason }: OwnersNews,
): Promise<void> {
  const about = { by: caller.agent, isBlocked: thread.status === "blocked", orchestrator, members: participants };
  const wakes = owners.flatMap((owner) => ownerWake(owner, about));
  const whom = wakes.map((one) => one.agentId);
  for (const agent of whom) if (agent === orchestrator) await tx.join(thread.threadId, agent, "orchestrator");
  await appendSystemMessage(tx, thread.threadId, eventType, text, facts, whom);
  await tx.wantWakes(wakes, wakeReason);
}
