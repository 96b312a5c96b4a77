import { isoTime } from "../../base/text/iso-time.ts";
import { threadsError } from "../domain/faults.ts";
import { DEFAULT_POLICY } from "../domain/policy.ts";
import { areTemplates } from "../domain/recovery.ts";
import type { Reads } from "../domain/store.ts";
import type { Escalation, EscalationState, Metadata, Principal } from "../domain/types.ts";
import { openThread, roleClassOf, type ServiceDeps, seesAll } from "./access.ts";
import { note } from "./note.ts";
import { attemptView, auditView, escalationView, sessionView, wakeView } from "./views.ts";

const LIMIT = 50;
const REVOKED_MS = 24 * 3_600_000;
/** The length of a pause that lasts until it is resumed. */
const FOREVER_MS = 100 * 365 * 86_400_000;

type Need = "commands" | "operator" | "audits";

/** @throws DomainError `denied`, code INSUFFICIENT_AUTHORITY */
async function need(reads: Reads, caller: Principal, what: Need): Promise<void> {
  const role = roleClassOf(caller, await reads.policy());
  const allowed = { commands: ["operator", "orchestrator"], operator: ["operator"], audits: ["operator", "auditor"] }[
    what
  ];
  if (allowed.includes(role)) return;
  throw threadsError("INSUFFICIENT_AUTHORITY", `this is for the roles ${allowed.join(" and ")}`, { role: caller.role });
}

export async function listSessions(deps: ServiceDeps, caller: Principal) {
  return { sessions: (await deps.store.reads(caller.workspace).sessions()).map(sessionView) };
}

/**
 * Lists wakes with their attempts, newest first. A worker gets its own wakes, and those of other agents in its threads
 * without the texts, which may name other threads.
 */
export async function listWakes(
  deps: ServiceDeps,
  caller: Principal,
  input: { readonly agent_id?: string; readonly thread_id?: string; readonly limit?: number },
) {
  const reads = deps.store.reads(caller.workspace);
  const { agent_id: given, thread_id: threadId, limit = LIMIT } = input;
  if (threadId !== undefined) await openThread(reads, caller, await reads.thread(threadId), threadId, "read");
  const all = seesAll(roleClassOf(caller, await reads.policy()));
  const agent = given ?? (all || threadId !== undefined ? undefined : caller.agent);
  const isStrange = !all && threadId === undefined && agent !== undefined && agent !== caller.agent;
  if (isStrange && !(await reads.shareThread(caller.agent, agent))) return { wakes: [] };
  const found = await reads.wakes({ limit, agent, threadId });
  const wakes = await Promise.all(
    found.map(async (wake) => {
      const tries = (await reads.attempts(wake.wakeId)).map(attemptView);
      const isOpen = all || wake.agentId === caller.agent;
      return { ...wakeView(wake), tries: isOpen ? tries : tries.map((one) => ({ ...one, text: "" })) };
    }),
  );
  return { wakes };
}

/**
 * Cancels a wake that no worker has claimed.
 * @throws DomainError `precondition`, code INVALID_TRANSITION, unless the wake is PENDING or DEFERRED
 */
export async function cancelWake(
  deps: ServiceDeps,
  caller: Principal,
  { wake_id: wakeId }: { readonly wake_id: string },
) {
  const wake = await deps.store.write(caller.workspace, async (tx) => {
    await need(tx, caller, "commands");
    const found = await tx.wake(wakeId);
    if (found === undefined) throw threadsError("NOT_FOUND", `there is no wake ${wakeId}`, { wake_id: wakeId });
    if (found.state !== "PENDING" && found.state !== "DEFERRED") {
      throw threadsError("INVALID_TRANSITION", `the wake is ${found.state}`, { state: found.state });
    }
    await tx.setWakeState(wakeId, "CANCELLED", "cancelled");
    await note(tx, caller, "wake_cancelled", { wake_id: wakeId, agent_id: found.agentId });
    return (await tx.wake(wakeId)) ?? found;
  });
  deps.changes.publish({ workspace: caller.workspace, kind: "wake", agents: [wake.agentId] });
  return { wake: wakeView(wake) };
}

interface PauseInput {
  readonly agent_id?: string;
  readonly thread_id?: string;
  readonly for_ms?: number;
}

export async function pause(deps: ServiceDeps, caller: Principal, input: PauseInput) {
  const until = await setPause(deps, caller, input, input.for_ms ?? FOREVER_MS);
  return { paused_until: isoTime(until ?? 0) };
}

export async function resume(deps: ServiceDeps, caller: Principal, input: PauseInput) {
  await setPause(deps, caller, input, undefined);
  return {};
}

async function setPause(deps: ServiceDeps, caller: Principal, input: PauseInput, forMs: number | undefined) {
  const { agent_id: agent, thread_id: threadId } = input;
  if (agent !== undefined && threadId !== undefined) {
    throw threadsError("VALIDATION_ERROR", "give agent_id or thread_id, or neither for the whole workspace");
  }
  const until = await deps.store.write(caller.workspace, async (tx) => {
    await need(tx, caller, "commands");
    if (threadId !== undefined && (await tx.lockThread(threadId)) === undefined) {
      throw threadsError("NOT_FOUND", `there is no thread ${threadId}`);
    }
    const end = forMs === undefined ? null : (await tx.now()) + forMs;
    await tx.pause({ agent, threadId }, end);
    await note(tx, caller, forMs === undefined ? "resumed" : "paused", { agent_id: agent ?? "" }, threadId);
    return end;
  });
  const news = { workspace: caller.workspace, kind: "wake" } as const;
  deps.changes.publish({ ...news, threadId });
  return until;
}

export async function listEscalations(
  deps: ServiceDeps,
  caller: Principal,
  { state, limit = LIMIT }: { readonly state?: EscalationState; readonly limit?: number },
) {
  const reads = deps.store.reads(caller.workspace);
  const all = seesAll(roleClassOf(caller, await reads.policy()));
  const found = await reads.escalations({ limit, state });
  return { escalations: found.filter((one) => all || one.owner === caller.agent).map(escalationView) };
}

export function acknowledgeEscalation(deps: ServiceDeps, caller: Principal, input: { readonly escalation_id: string }) {
  return moveEscalation(deps, caller, input.escalation_id, "acknowledged");
}

export function resolveEscalation(deps: ServiceDeps, caller: Principal, input: { readonly escalation_id: string }) {
  return moveEscalation(deps, caller, input.escalation_id, "resolved");
}

async function moveEscalation(deps: ServiceDeps, caller: Principal, id: string, to: "acknowledged" | "resolved") {
  const escalation = await deps.store.write(caller.workspace, async (tx): Promise<Escalation> => {
    const found = await tx.escalation(id);
    if (found === undefined) throw threadsError("NOT_FOUND", `there is no escalation ${id}`);
    if (found.owner !== caller.agent) await need(tx, caller, "commands");
    if (found.state === "resolved" || found.state === to) {
      throw threadsError("INVALID_TRANSITION", `the escalation is ${found.state}`, { state: found.state });
    }
    await tx.setEscalation(id, to);
    await note(tx, caller, `escalation_${to}`, { escalation_id: id }, found.threadId);
    return { ...found, state: to };
  });
  const { threadId } = escalation;
  deps.changes.publish({ workspace: caller.workspace, kind: "escalation", threadId });
  return { escalation: escalationView(escalation) };
}

export async function listAudit(
  deps: ServiceDeps,
  caller: Principal,
  { after_seq: afterSeq = 0, limit = LIMIT }: { readonly after_seq?: number; readonly limit?: number },
) {
  const reads = deps.store.reads(caller.workspace);
  await need(reads, caller, "audits");
  return { entries: (await reads.auditEntries({ afterSeq, limit })).map(auditView) };
}

/** Verifies the hash chains of the audit trail and of all threads. */
export async function verifyAudit(deps: ServiceDeps, caller: Principal) {
  const reads = deps.store.reads(caller.workspace);
  await need(reads, caller, "audits");
  const { checked, broken } = await reads.verifyChains();
  return {
    ok: broken.length === 0,
    checked,
    broken: broken.map(({ threadId, seq }) => ({ seq, ...(threadId !== undefined && { thread_id: threadId }) })),
  };
}

export async function revokeToken(
  deps: ServiceDeps,
  caller: Principal,
  { jti, session_id: session }: { readonly jti?: string; readonly session_id?: string },
) {
  if ((jti === undefined) === (session === undefined)) throw threadsError("VALIDATION_ERROR", "give jti or session_id");
  await deps.store.write(caller.workspace, async (tx) => {
    await need(tx, caller, "operator");
    const until = (await tx.now()) + REVOKED_MS;
    if (jti !== undefined) await tx.revoke("jti", jti, until);
    if (session !== undefined) await tx.revoke("session", session, until);
    await note(tx, caller, "revoked", { jti: jti ?? "", session_id: session ?? "" });
  });
  deps.changes.publish({ workspace: caller.workspace, kind: "revoked" });
  return {};
}

export async function getPolicy(deps: ServiceDeps, caller: Principal) {
  return { policy: await deps.store.reads(caller.workspace).policy() };
}

export async function setPolicy(deps: ServiceDeps, caller: Principal, { policy }: { readonly policy: Metadata }) {
  for (const [name, value] of Object.entries(policy)) checkPolicy(name, value);
  const now = await deps.store.write(caller.workspace, async (tx) => {
    await need(tx, caller, "operator");
    await tx.savePolicy(policy);
    await note(tx, caller, "orchestrator" in policy ? "orchestrator" : "policy", policy);
    return await tx.policy();
  });
  deps.changes.publish({ workspace: caller.workspace, kind: "policy" });
  return { policy: now };
}

function checkPolicy(name: string, value: unknown): void {
  const known = Object.hasOwn(DEFAULT_POLICY, name) ? DEFAULT_POLICY[name as keyof typeof DEFAULT_POLICY] : undefined;
  if (known === undefined) {
    const hint = `the keys are ${Object.keys(DEFAULT_POLICY).join(", ")}`;
    throw threadsError("VALIDATION_ERROR", `policy.${name.slice(0, 100)} is not known`, { hint });
  }
  const isWhole =
    typeof value === "number" && Number.isSafeInteger(value) && value >= (name === "retention_days" ? 0 : 1);
  const isRight =
    typeof known === "number"
      ? isWhole
      : name === "unmanaged"
        ? ["refuse", "resume", "spawn"].includes(String(value))
        : name === "spawn"
          ? areTemplates(value)
          : typeof value === typeof known && value !== null;
  if (!isRight) throw threadsError("VALIDATION_ERROR", `policy.${name} is not valid`);
}
