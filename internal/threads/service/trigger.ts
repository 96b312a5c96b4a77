import { threadsError } from "../domain/faults.ts";
import type { Principal } from "../domain/types.ts";
import { openThread, type ServiceDeps } from "./access.ts";
import { note } from "./note.ts";
import type { TriggerInput } from "./wire.ts";

/**
 * Wakes a participant now.
 * @throws DomainError `invalid`, code UNKNOWN_RECIPIENT, for an agent that does not take part; `precondition`, code
 * UNMANAGED_RUNTIME, for a person; `denied` if `force` is set and the caller is no operator
 */
export async function triggerParticipant(deps: ServiceDeps, caller: Principal, input: TriggerInput) {
  const { thread_id: threadId, agent_id: agent, reason, force = false } = input;
  const wake = await deps.store.write(caller.workspace, async (tx) => {
    const locked = await tx.lockThread(threadId);
    const { participants, role } = await openThread(tx, caller, locked?.thread, threadId, "write");
    const who = participants.find((one) => one.agentId === agent);
    if (who === undefined) {
      throw threadsError("UNKNOWN_RECIPIENT", `${JSON.stringify(agent)} is no participant of the thread`);
    }
    if (who.kind === "person") throw threadsError("UNMANAGED_RUNTIME", `${agent} is a person: only agents are woken`);
    if (force && role !== "operator") {
      throw threadsError("INSUFFICIENT_AUTHORITY", "force is for operators");
    }
    await tx.wantWakes([{ agentId: agent, urgency: force ? "interrupt" : "urgent", delayMs: 0 }], reason);
    await note(tx, caller, force ? "forced_wake" : "trigger", { agent_id: agent, reason }, threadId);
    return (await tx.wakes({ agent, limit: 1 }))[0];
  });
  if (wake === undefined) throw new Error("a wake is not there after it was stored");
  deps.changes.publish({ workspace: caller.workspace, kind: "wake", threadId, agents: [agent] });
  return {
    wake_id: wake.wakeId,
    state: wake.state,
    ...(wake.lastOutcome !== "" && { outcome: wake.lastOutcome }),
    ...(wake.blockedBy !== "" && { blocked_by: wake.blockedBy }),
  };
}
