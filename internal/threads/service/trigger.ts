import { within } from "../../base/abort.ts";
import { threadsError } from "../domain/faults.ts";
import { isOpenWake, type Principal, type Wake } from "../domain/types.ts";
import { isCollision } from "../domain/wake-outcomes.ts";
import { openThread, type ServiceDeps } from "./access.ts";
import { note } from "./note.ts";
import type { TriggerInput } from "./wire.ts";

const FORCED_MS = 10_000;
const LOOK_MS = 250;

/**
 * Wakes a participant now. With `force` waits for the attempt, at most 10 s.
 * @throws DomainError `invalid`, code UNKNOWN_RECIPIENT, for an agent that does not take part; `precondition`, code
 * UNMANAGED_RUNTIME, for a person, and for an agent that was found unreachable and of which no runtime has ever
 * confirmed a session; `denied` if `force` is set and the caller is not an operator; `precondition`, code
 * HUMAN_INPUT_COLLISION, if a draft or a dialog blocks a forced wake, which then waits until that is gone
 */
export async function triggerParticipant(
  deps: ServiceDeps,
  caller: Principal,
  input: TriggerInput,
  signal: AbortSignal,
): Promise<object> {
  const { thread_id: threadId, agent_id: agent, reason, force = false } = input;
  const wake = await deps.store.write(caller.workspace, async (tx) => {
    const locked = await tx.lockThread(threadId);
    const { participants, role } = await openThread(tx, caller, locked?.thread, threadId, "write");
    const who = participants.find((one) => one.agentId === agent);
    if (who === undefined) {
      throw threadsError("UNKNOWN_RECIPIENT", `${JSON.stringify(agent)} is not a participant of the thread`);
    }
    if (who.kind === "person") throw threadsError("UNMANAGED_RUNTIME", `${agent} is a person: only agents are woken`);
    if (force && role !== "operator") {
      throw threadsError("INSUFFICIENT_AUTHORITY", "force is for operators");
    }
    await tx.wantWakes([{ agentId: agent, urgency: force ? "interrupt" : "urgent", force, delayMs: 0 }], reason);
    await note(tx, caller, force ? "forced_wake" : "trigger", { agent_id: agent, reason }, threadId);
    return (await tx.wakes({ agent, limit: 1 }))[0];
  });
  if (wake === undefined) throw new Error("a wake is not there after it was stored");
  deps.changes.publish({ workspace: caller.workspace, kind: "wake", threadId, agents: [agent] });
  const now = force ? await attempted(deps, caller.workspace, wake, signal) : wake;
  if (force && !now.force && isCollision(now.lastOutcome)) {
    const what = now.lastOutcome === "composer-busy" ? "someone uses the prompt of" : "a dialog is open at";
    throw threadsError("HUMAN_INPUT_COLLISION", `${what} ${agent}: nothing was typed, and the wake waits`, {
      ...{ wake_id: now.wakeId, state: now.state, blocked_by: now.blockedBy },
    });
  }
  if (now.state === "DEFERRED" && now.blockedBy === "unreachable") {
    const sessions = await deps.store.reads(caller.workspace).sessions();
    if (!sessions.some((one) => one.agentId === agent && one.managed)) {
      const hint = "it gets its messages when it asks";
      throw threadsError("UNMANAGED_RUNTIME", `no runtime has confirmed a session of ${agent}`, { hint });
    }
  }
  return {
    wake_id: now.wakeId,
    state: now.state,
    ...(now.lastOutcome !== "" && { outcome: now.lastOutcome }),
    ...(now.blockedBy !== "" && { blocked_by: now.blockedBy }),
  };
}

/** The wake after its forced attempt, or as it is now if the attempt takes too long. */
async function attempted(deps: ServiceDeps, workspace: string, wake: Wake, signal: AbortSignal): Promise<Wake> {
  const { store, changes, clock } = deps;
  const end = clock.monotonicMs() + FORCED_MS;
  let news = Promise.withResolvers<void>();
  using _heard = changes.subscribe((change) => {
    if (change === undefined || change.agents?.includes(wake.agentId)) news.resolve();
  });
  for (let now: Wake = wake; ; now = (await store.reads(workspace).wake(wake.wakeId)) ?? wake) {
    if (!now.force || !isOpenWake(now.state) || clock.monotonicMs() >= end) return now;
    await within(clock, LOOK_MS, news.promise, signal);
    signal.throwIfAborted();
    news = Promise.withResolvers<void>();
  }
}
