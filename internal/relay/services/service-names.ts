import { randomBytes } from "node:crypto";
import type { LaneName } from "../nats/subjects.ts";

/** The service name that all agents share. */
export const SERVICE = "agents";

/** An agent that holds a lane. */
export interface ServedAgent {
  readonly lane: LaneName;
  readonly agentId: string;
}

/** The subjects of an agent, `agents.{verb}.{role}.{sid}.{agent_id}`. */
export interface ServiceSubjects {
  readonly prompt: string;
  readonly status: string;
  readonly heartbeat: string;
}

export function subjectsOf({ lane, agentId }: ServedAgent): ServiceSubjects {
  const tokens = [lane.role, lane.sessionId, agentId].map(tokenOf).join(".");
  const of = (verb: string) => `${SERVICE}.${verb}.${tokens}`;
  return { prompt: of("prompt"), status: of("status"), heartbeat: of("hb") };
}

/** A subject for the answer to one question of an agent. Nobody can guess it. */
export function answerSubject({ sessionId, role }: LaneName): string {
  return `${SERVICE}.query.${tokenOf(role)}.${tokenOf(sessionId)}.${randomBytes(16).toString("hex")}`;
}

/** True for `agents` and each subject below it. A request whose reply subject is one of these gets no answer. */
export function isOfServices(subject: string): boolean {
  return subject === SERVICE || subject.startsWith(`${SERVICE}.`);
}

const ESCAPE = "x--";

/**
 * The subject token of a name. The protocol's tokens are lower-case, so other names are written in hex after `x--`. No
 * two names have the same token.
 */
function tokenOf(name: string): string {
  const isPlain = /^[a-z0-9-]+$/.test(name) && !name.startsWith(ESCAPE);
  return isPlain ? name : `${ESCAPE}${Buffer.from(name).toString("hex")}`;
}
