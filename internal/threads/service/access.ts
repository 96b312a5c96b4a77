import type { Clock } from "../../base/clock.ts";
import { classOf, type RoleClass } from "../domain/authority.ts";
import type { Changes } from "../domain/changes.ts";
import { threadsError } from "../domain/faults.ts";
import type { Policy } from "../domain/policy.ts";
import type { Reads, Store } from "../domain/store.ts";
import type { Caller, Participant, Thread } from "../domain/types.ts";
import type { PostLimiter } from "./post-limiter.ts";

interface ServiceCounts {
  loopBlocked(rule: string): void;
  /** A message was returned to a reader that waited: ms from its storing. */
  visible(ms: number): void;
}

export interface ServiceDeps {
  readonly store: Store;
  readonly changes: Changes;
  readonly limiter: PostLimiter;
  /** Hears what happens in operations. Default: no one does. */
  readonly counts?: ServiceCounts;
  /** Clock of this process, for waiting and heartbeats only. */
  readonly clock: Pick<Clock, "now" | "monotonicMs" | "sleep">;
}

export interface Opened {
  readonly thread: Thread;
  readonly participants: readonly Participant[];
  /** The caller, where it takes part. */
  readonly me: Participant | undefined;
  readonly role: RoleClass;
  readonly policy: Policy;
}

/**
 * A thread that the caller may use, with everybody in it.
 * @throws DomainError `not-found`; `denied` where the caller takes no part and has no role that reads everywhere
 */
export async function openThread(
  reads: Reads,
  caller: Caller,
  found: Thread | undefined,
  threadId: string,
  need: "read" | "write",
): Promise<Opened> {
  if (found === undefined) throw threadsError("NOT_FOUND", `there is no thread ${threadId}`, { thread_id: threadId });
  const policy = await reads.policy();
  const participants = await reads.participants(threadId);
  const me = participants.find((one) => one.agentId === caller.agent);
  const role = roleOf(caller, policy);
  if (need === "write" && role === "auditor") {
    throw threadsError("INSUFFICIENT_AUTHORITY", "an auditor reads and changes nothing");
  }
  if (me === undefined && !seesAll(role)) {
    throw threadsError("FORBIDDEN", `${caller.agent} takes no part in thread ${threadId}`, {
      hint: "a participant can add it with manage_participants",
    });
  }
  return { thread: found, participants, me, role, policy };
}

export function roleOf(caller: Pick<Caller, "agent" | "role">, policy: Policy): RoleClass {
  return classOf(caller.role, caller.agent, policy.orchestrator);
}

/** Roles that read every thread of their workspace. */
export function seesAll(role: RoleClass): boolean {
  return role !== "worker";
}
