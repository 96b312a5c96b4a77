import { classOf } from "./authority.ts";
import type { Escalation, MemberKind } from "./types.ts";
import type { PlannedWake } from "./wake-plan.ts";

/** The owner of an escalation that no one else owns: all people with the role operator. */
export const OPERATORS = "operators";

interface Member {
  readonly agentId: string;
  readonly role: string;
  readonly kind: MemberKind;
}

/**
 * The owner of an escalation: the named one, else the thread's owner, else the workspace's orchestrator, else a
 * participant with that role, else `OPERATORS`.
 */
export function escalationOwner(facts: {
  readonly named: string | undefined;
  readonly threadOwner: string;
  /** The agent that the policy names; empty: none. */
  readonly orchestrator: string;
  readonly members: readonly Member[];
}): string {
  const { named, threadOwner, orchestrator, members } = facts;
  const taking = members.find((one) => classOf(one.role, one.agentId, orchestrator) === "orchestrator");
  return named || threadOwner || orchestrator || taking?.agentId || OPERATORS;
}

/**
 * The wake of an escalation's owner. Empty unless the owner is an agent of the thread or the workspace's orchestrator,
 * and is not the agent that escalates. In a blocked thread only an orchestrator is woken.
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

/**
 * Whether an escalation is unacknowledged at its deadline and has not been passed to the operators yet. `now`: ms, by
 * the clock of `dueAt`.
 */
export function isOverdue(one: Pick<Escalation, "state" | "overdue" | "dueAt">, now: number): boolean {
  return one.state === "open" && !one.overdue && one.dueAt <= now;
}
