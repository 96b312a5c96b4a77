import type { Clock } from "../../base/clock.ts";
import { classOf, type RoleClass } from "../domain/authority.ts";
import type { Changes } from "../domain/changes.ts";
import { threadsError } from "../domain/faults.ts";
import type { Policy } from "../domain/policy.ts";
import type { Reads, Store } from "../domain/store.ts";
import type { Participant, Principal, Thread } from "../domain/types.ts";
import type { PostLimiter } from "./post-limiter.ts";

interface ServiceCounts {
  loopBlocked(rule: string): void;
  /** Records that a waiting reader was given a message; `ms`: since it was stored. */
  visible(ms: number): void;
}

export interface ServiceDeps {
  readonly store: Store;
  readonly changes: Changes;
  readonly limiter: PostLimiter;
  /** Counts events of operations. Default: nothing is counted. */
  readonly counts?: ServiceCounts;
  /** Clock of this process, for waiting and heartbeats only. */
  readonly clock: Pick<Clock, "now" | "monotonicMs" | "sleep">;
}

export interface Opened {
  readonly thread: Thread;
  readonly participants: readonly Participant[];
  /** The caller as a participant; undefined: it does not take part. */
  readonly me: Participant | undefined;
  readonly role: RoleClass;
  readonly policy: Policy;
}

/**
 * Checks that the caller may use a thread. Returns the thread, its participants and the caller's role.
 * @throws DomainError `not-found`; `denied` if the caller does not take part and its role does not read every thread,
 * or if it is an auditor and `need` is `write`
 */
export async function openThread(
  reads: Reads,
  caller: Principal,
  found: Thread | undefined,
  threadId: string,
  need: "read" | "write",
): Promise<Opened> {
  if (found === undefined) throw threadsError("NOT_FOUND", `there is no thread ${threadId}`, { thread_id: threadId });
  const policy = await reads.policy();
  const participants = await reads.participants(threadId);
  const me = participants.find((one) => one.agentId === caller.agent);
  const role = roleClassOf(caller, policy);
  if (need === "write" && role === "auditor") {
    throw threadsError("INSUFFICIENT_AUTHORITY", "an auditor may only read");
  }
  if (me === undefined && !seesAll(role)) {
    throw threadsError("FORBIDDEN", `${caller.agent} takes no part in thread ${threadId}`, {
      hint: "a participant can add it with manage_participants",
    });
  }
  return { thread: found, participants, me, role, policy };
}

export function roleClassOf(caller: Pick<Principal, "agent" | "role">, policy: Policy): RoleClass {
  return classOf(caller.role, caller.agent, policy.orchestrator);
}

/** Whether a role may read every thread of its workspace. */
export function seesAll(role: RoleClass): boolean {
  return role !== "worker";
}
