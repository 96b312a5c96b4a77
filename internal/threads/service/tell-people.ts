import type { Changes } from "../domain/changes.ts";
import { OPERATORS } from "../domain/escalation.ts";
import type { Store, Tx } from "../domain/store.ts";
import type { Principal, Wake, WakeNews } from "../domain/types.ts";
import { escalateIn, type LockedThread, sayToOwners } from "./escalate.ts";
import { note } from "./note.ts";
import { appendSystemMessage } from "./system-messages.ts";

interface Deps {
  readonly store: Store;
  readonly changes: Changes;
}

const AT_ONCE = 50;
const MAX_THREADS = 16;

/**
 * Informs people, once each, of wakes that cannot be typed and of messages that agents have not acknowledged. Any
 * number of processes may run it.
 */
export async function tellPeople({ store, changes }: Deps): Promise<void> {
  for (const { workspace, wakeId } of await store.wakesWithNews(AT_ONCE)) {
    const threads = await store.write(workspace, (tx) => tellOfWake(tx, workspace, wakeId));
    for (const threadId of threads) changes.publish({ workspace, kind: "escalation", threadId });
  }
  for (const { workspace, threadId, agentId } of await store.unshown(AT_ONCE)) {
    await store.write(workspace, (tx) => showForgotten(tx, workspace, threadId, agentId));
    changes.publish({ workspace, kind: "escalation", threadId });
  }
}

/**
 * Reports the news of a wake in each thread with messages that wait for its agent, at most 16 threads. Returns the ids
 * of these threads.
 */
async function tellOfWake(tx: Tx, workspace: string, wakeId: string): Promise<readonly string[]> {
  const agent = (await tx.wake(wakeId))?.agentId;
  if (agent === undefined) return [];
  const waiting = (await tx.waiting(agent)).map((one) => one.threadId).slice(0, MAX_THREADS);
  const places: LockedThread[] = [];
  for (const threadId of waiting.sort()) {
    const locked = await tx.lockThread(threadId);
    if (locked) places.push({ thread: locked.thread, participants: await tx.participants(threadId) });
  }
  // Read the wake again with the threads locked: another process may have reported its news.
  const wake = await tx.wake(wakeId);
  if (wake === undefined || wake.news.length === 0) return [];
  for (const place of places)
    for (const news of wake.news) await TELL[news](tx, place, wake, system(workspace, wakeId));
  await tx.wakeTold(wakeId, wake.news);
  return places.map(({ thread }) => thread.threadId);
}

const TELL: Readonly<Record<WakeNews, (tx: Tx, place: LockedThread, wake: Wake, by: Principal) => Promise<void>>> = {
  failed: tellFailed,
  deferred: tellDeferred,
  dialog: tellDialog,
  fallback: tellFallback,
};

async function tellFailed(tx: Tx, place: LockedThread, wake: Wake, by: Principal): Promise<void> {
  const { threadId } = place.thread;
  const { agentId, wakeId, lastOutcome } = wake;
  const reason = `${agentId} could not be woken: ${lastOutcome}`;
  await appendSystemMessage(tx, threadId, "wake_failed", reason, factsOf(wake));
  await escalateIn(tx, by, place, { severity: "high", cause: "wake_failed", reason });
  await note(tx, by, "wake_failed", { wake_id: wakeId, agent_id: agentId, outcome: lastOutcome }, threadId);
}

/** Informs the thread's owner and the orchestrator that a person keeps the wake from being typed. */
async function tellDeferred(tx: Tx, place: LockedThread, wake: Wake, by: Principal): Promise<void> {
  const { orchestrator } = await tx.policy();
  const { thread, participants } = place;
  const others = participants.filter((one) => one.role === "orchestrator").map((one) => one.agentId);
  const owners = new Set([thread.owner, ...(orchestrator === "" ? others : [orchestrator])]);
  owners.delete(wake.agentId);
  const text = `a person is at the keys of ${wake.agentId}: it is woken when they are quiet`;
  const news = { eventType: "wake_deferred", text, facts: factsOf(wake), orchestrator };
  await sayToOwners(tx, by, place, [...owners], { ...news, wakeReason: `deferred wake ${wake.wakeId}` });
}

/** Sets the thread's `needs_human_decision`, and escalates to its owner. */
async function tellDialog(tx: Tx, place: LockedThread, wake: Wake, by: Principal): Promise<void> {
  const { threadId } = place.thread;
  const { agentId, wakeId, blockedTitle } = wake;
  const reason = `${agentId} waits at a dialog that a person has to answer: "${blockedTitle}"`;
  let { thread } = place;
  if (!thread.needsHumanDecision) {
    thread = await tx.patchThread(threadId, { needsHumanDecision: true });
    const facts = { needs_human_decision: true, reason, version: thread.version };
    await appendSystemMessage(tx, threadId, "status_changed", `needs a human decision: ${reason}`, facts);
  }
  await escalateIn(tx, by, { ...place, thread }, { severity: "high", cause: "needs_human", reason });
  await note(tx, by, "needs_human", { wake_id: wakeId, agent_id: agentId, title: blockedTitle }, threadId);
}

/** Escalates that no session of the agent could be started in place of the one that ended. */
async function tellFallback(tx: Tx, place: LockedThread, wake: Wake, by: Principal): Promise<void> {
  const { threadId } = place.thread;
  const { agentId, wakeId } = wake;
  const reason = `${agentId} has ended and is not started again: it is woken when it is back`;
  await appendSystemMessage(tx, threadId, "wake_failed", reason, factsOf(wake));
  await escalateIn(tx, by, place, { severity: "high", cause: "fallback_required", reason });
  await note(tx, by, "fallback_required", { wake_id: wakeId, agent_id: agentId }, threadId);
}

async function showForgotten(tx: Tx, workspace: string, threadId: string, agentId: string): Promise<void> {
  const locked = await tx.lockThread(threadId);
  if (locked === undefined || !(await tx.shown(threadId, agentId))) return;
  const place = { thread: locked.thread, participants: await tx.participants(threadId) };
  const by = system(workspace, "");
  const reason = `${agentId} was given messages, reminded of them twice, and has not acknowledged them`;
  await escalateIn(tx, by, place, { severity: "medium", cause: "not_acknowledged", reason, owner: OPERATORS });
  await note(tx, by, "not_acknowledged", { agent_id: agentId }, threadId);
}

function factsOf({ wakeId, agentId, blockedBy, lastOutcome }: Wake) {
  return { wake_id: wakeId, agent_id: agentId, blocked_by: blockedBy, outcome: lastOutcome };
}

function system(workspace: string, wakeId: string): Principal {
  const correlationId = wakeId === "" ? "" : `w-${wakeId}`;
  return { workspace, agent: "system", role: "system", kind: "agent", session: "", expiresAt: 0, correlationId };
}
