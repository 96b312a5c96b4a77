import { namesOf, threadsError } from "./faults.ts";
import type { Participant } from "./types.ts";

export interface Recipients {
  readonly to?: readonly string[] | undefined;
  readonly toRole?: readonly string[] | undefined;
}

type Member = Pick<Participant, "agentId" | "role">;

/**
 * The recipients of a message: the members that are named and those whose role is named. Undefined: neither is given,
 * so the message is for all.
 * @throws DomainError `invalid`, code UNKNOWN_RECIPIENT, for an agent that is not a participant or a role that no
 * participant has
 */
export function recipientsOf({ to, toRole }: Recipients, members: readonly Member[]): readonly string[] | undefined {
  if ((to ?? []).length === 0 && (toRole ?? []).length === 0) return undefined;
  for (const agent of to ?? []) {
    if (members.some((one) => one.agentId === agent)) continue;
    const known = namesOf(members.map((one) => one.agentId));
    throw threadsError("UNKNOWN_RECIPIENT", `${JSON.stringify(agent)} is not a participant of the thread`, {
      hint: `its participants are ${known}`,
      recipient: agent,
    });
  }
  for (const role of toRole ?? []) {
    if (members.some((one) => one.role === role)) continue;
    const known = namesOf(members.map((one) => one.role).filter((one) => one !== ""));
    throw threadsError("UNKNOWN_RECIPIENT", `no participant of the thread has the role ${JSON.stringify(role)}`, {
      hint: `the roles are ${known}`,
      recipient: role,
    });
  }
  const named = members.filter((one) => to?.includes(one.agentId) || toRole?.includes(one.role));
  return named.map((one) => one.agentId);
}
