import type { Environment } from "../../base/environment.ts";
import { passedEnvironment } from "../../process/children/passed-environment.ts";
import type { UnixUser } from "../../process/users/unix-user.ts";
import { userEnvironment } from "../../process/users/user-environment.ts";
import type { ProgramDialect } from "../conversation/conversation.ts";

/**
 * The environment of an agent: the variables of every child process, and those that its program needs. An agent that
 * runs as another user gets that user's own environment. Pure.
 */
export function agentEnvironment(dialect: ProgramDialect, own: Environment, user?: UnixUser): Record<string, string> {
  if (user !== undefined) return { ...userEnvironment(user, own), ...dialect.set };
  return { ...passedEnvironment(own, { ...dialect.environment, unset: dialect.unset }), ...dialect.set };
}
