import { type AuthorityVerdict, judgeMark, judgeTransition } from "../domain/authority.ts";
import { threadsError } from "../domain/faults.ts";
import { resetGuard } from "../domain/loop-guard.ts";
import type { ThreadPatch } from "../domain/store.ts";
import type { Metadata, Participant, Principal, Thread } from "../domain/types.ts";
import { type Opened, openThread, type ServiceDeps } from "./access.ts";
import { note } from "./note.ts";
import { appendSystemMessage } from "./system-messages.ts";
import { threadView } from "./views.ts";
import type { StatusInput, WireThread } from "./wire.ts";

/** Changes a thread's state if the caller's role allows it. Adds a system message and an audit entry for the change. */
export async function updateThreadStatus(
  deps: ServiceDeps,
  caller: Principal,
  input: StatusInput,
): Promise<{ readonly thread: WireThread }> {
  const { thread_id: threadId } = input;
  const thread = await deps.store.write(caller.workspace, async (tx) => {
    const locked = await tx.lockThread(threadId);
    const opened = await openThread(tx, caller, locked?.thread, threadId, "write");
    const patch = patchOf(opened, caller, input);
    const changed = await tx.patchThread(threadId, patch);
    const facts = factsOf(opened.thread, changed, input.reason);
    await appendSystemMessage(
      tx,
      threadId,
      "status_changed",
      sentence(caller, opened.thread, changed, input.reason),
      facts,
    );
    const overrides = isOverride(opened, caller, patch);
    if (overrides) {
      const wakes = orchestratorWakes(opened.policy.orchestrator, opened.participants, caller);
      const whom = wakes.map((one) => one.agentId);
      for (const agent of whom) await tx.join(threadId, agent, "");
      await appendSystemMessage(
        tx,
        threadId,
        "override",
        `${caller.agent} has decided a dispute, lifted a block or reopened the thread`,
        facts,
        whom,
      );
      await tx.wantWakes(wakes, "override");
    }
    await note(tx, caller, actionOf(patch, overrides), facts, threadId);
    return (await tx.thread(threadId)) ?? changed;
  });
  deps.changes.publish({ workspace: caller.workspace, kind: "thread", threadId });
  return { thread: threadView(thread) };
}

function patchOf({ thread, role }: Opened, caller: Principal, input: StatusInput): ThreadPatch {
  const { status, reason, disputed, needs_human_decision: needsHuman, owner } = input;
  if ([status, disputed, needsHuman, owner].every((one) => one === undefined)) {
    throw threadsError("VALIDATION_ERROR", "nothing to change: give status, disputed, needs_human_decision or owner");
  }
  if (input.expected_version !== thread.version) {
    throw threadsError("CONFLICT", `the thread has version ${thread.version}, not ${input.expected_version}`, {
      current_version: thread.version,
      hint: "read the thread again",
    });
  }
  const isOwnBlock = thread.guard.blockedBy === caller.agent;
  if (status !== undefined) {
    const verdict = judgeTransition(thread.status, status, { role, disputed: thread.disputed, ownBlock: isOwnBlock });
    check(verdict, `${thread.status} to ${status}`, role, thread);
  }
  if (disputed !== undefined) check(judgeMark(disputed, { role }), `disputed to ${disputed}`, role, thread);
  if (needsHuman !== undefined)
    check(judgeMark(needsHuman, { role }), `needs_human_decision to ${needsHuman}`, role, thread);
  const reopensAsWorker = thread.status === "resolved" && status === "active" && role === "worker";
  return {
    status,
    statusReason: status && (reason ?? ""),
    disputed: disputed ?? (reopensAsWorker ? true : undefined),
    ...{ needsHumanDecision: needsHuman, owner },
    ...guardPatch(thread, caller, status),
  };
}

/**
 * Records the caller that blocks a thread. Resets the loop guard when a thread leaves `blocked`, and when a person or
 * an orchestrator sets another status.
 */
function guardPatch(thread: Thread, caller: Principal, status: StatusInput["status"]): ThreadPatch {
  if (status === "blocked") return { guard: { ...thread.guard, blockedBy: caller.agent } };
  const decides = caller.kind === "person" || caller.role === "orchestrator";
  if (status !== undefined && (thread.status === "blocked" || decides)) return { guard: resetGuard(thread.guard) };
  return {};
}

function check(verdict: AuthorityVerdict, what: string, role: string, thread: Thread): void {
  if (verdict === "allowed") return;
  if (verdict === "invalid") {
    throw threadsError("INVALID_TRANSITION", `a thread cannot go from ${what}`, { status: thread.status });
  }
  const dispute = thread.disputed ? " while it is disputed" : "";
  throw threadsError("INSUFFICIENT_AUTHORITY", `the role ${role} may not change ${what}${dispute}`, {
    status: thread.status,
    role,
    hint: "ask an operator, or escalate the thread",
  });
}

function isOverride({ thread }: Opened, caller: Principal, { status, disputed }: ThreadPatch): boolean {
  if (caller.role !== "operator") return false;
  const decidesDispute = thread.disputed && (disputed === false || status === "resolved" || status === "closed");
  const liftsBlock = thread.status === "blocked" && status === "active" && thread.guard.blockedBy === "guard";
  return decidesDispute || liftsBlock || (thread.status === "closed" && status === "active");
}

function orchestratorWakes(named: string, participants: readonly Participant[], caller: Principal) {
  const whom =
    named !== "" ? [named] : participants.filter((one) => one.role === "orchestrator").map((one) => one.agentId);
  const others = whom.filter((agentId) => agentId !== caller.agent);
  return others.map((agentId) => ({ agentId, urgency: "urgent", delayMs: 0 }) as const);
}

function actionOf(patch: ThreadPatch, overrides: boolean): string {
  if (overrides) return "override";
  if (patch.status !== undefined) return "status";
  if (patch.disputed !== undefined) return "dispute";
  return patch.owner !== undefined ? "owner" : "needs_human_decision";
}

function factsOf(before: Thread, after: Thread, reason: string | undefined): Metadata {
  return {
    ...(before.status !== after.status && { from: before.status, to: after.status }),
    ...(before.disputed !== after.disputed && { disputed: after.disputed }),
    ...(before.needsHumanDecision !== after.needsHumanDecision && { needs_human_decision: after.needsHumanDecision }),
    ...(before.owner !== after.owner && { owner: after.owner }),
    reason,
    version: after.version,
  };
}

function sentence(caller: Principal, before: Thread, after: Thread, reason: string | undefined): string {
  const parts = [
    before.status !== after.status ? `status ${before.status} → ${after.status}` : "",
    before.disputed !== after.disputed ? (after.disputed ? "disputed" : "no longer disputed") : "",
    before.needsHumanDecision !== after.needsHumanDecision
      ? after.needsHumanDecision
        ? "needs a human decision"
        : "needs no human decision any more"
      : "",
    before.owner !== after.owner ? `owner ${after.owner === "" ? "none" : after.owner}` : "",
  ].filter((one) => one !== "");
  const why = reason === undefined || reason === "" ? "" : ` (${reason})`;
  return `${caller.agent}: ${parts.length === 0 ? "no change" : parts.join(", ")}${why}`;
}
