import { classOf } from "./authority.ts";
import type { Escalation, MemberKind } from "./types.ts";
import type { PlannedWake } from "./wake-plan.ts";

/** Owner of what no one else is responsible for: people with the role operator. */
export const OPERATORS = "operators";

interface Member {
  readonly agentId: string;
  readonly role: string;
  readonly kind: MemberKind;
}

/** Whose an escalation is: the named one's, else the thread's owner's, else an orchestrator's, else the operators'. */
export function ownerOf(facts: {
  readonly named: string | undefined;
  readonly threadOwner: string;
  /** The workspace's, or empty. */
  readonly orchestrator: string;
  readonly members: readonly Member[];
}): string {
  const { named, threadOwner, orchestrator, members } = facts;
  const taking = members.find((one) => classOf(one.role, one.agentId, orchestrator) === "orchestrator");
  return named || threadOwner || orchestrator || taking?.agentId || OPERATORS;
}

/**
 * The wake by which an escalation reaches its owner: an agent of the thread, or the workspace's orchestrator. In a
 * thread that is blocked only an orchestrator is woken.
 */
export function ownerWake(
  owner: string,
  facts: {
    readonly by: string;
    readonly isBlocked: boolean;
    readonly orchestrator: string;
    readonly members: readonly Member[];
  },
): readonly PlannedWake[] {
  const { by, isBlocked, orchestrator, members } = facts;
  const member = members.find((one) => one.agentId === owner);
  const commands = owner === orchestrator || classOf(member?.role ?? "", owner, orchestrator) === "orchestrator";
  if (owner === by || owner === "" || owner === OPERATORS || member?.kind === "person") return [];
  if (isBlocked ? !commands : member === undefined && !commands) return [];
  return [{ agentId: owner, urgency: "urgent", delayMs: 0 }];
}

/** It goes to the operators, once: no one has acknowledged it in time. `now`: ms, of the same clock as `dueAt`. */
export function isOverdue(one: Pick<Escalation, "state" | "overdue" | "dueAt">, now: number): boolean {
  return one.state === "open" && !one.overdue && one.dueAt <= now;
}
