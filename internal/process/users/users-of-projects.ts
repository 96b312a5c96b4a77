import { DomainError } from "../../base/errors.ts";
import type { UnixUser } from "./unix-user.ts";

/**
 * The user that a project's agents run as; undefined: this process's user.
 * @throws DomainError `denied` if other projects have users and this project has none
 */
export type UserOf = (project: string) => UnixUser | undefined;

/**
 * Once one project has a user of its own, each needs one: agents that ran as the bridge's user could read the secrets
 * that keep the others apart.
 */
export function usersOf(users: ReadonlyMap<string, UnixUser>): UserOf {
  return (project) => {
    const user = users.get(project);
    if (user !== undefined || users.size === 0) return user;
    const why = "its agents would run as the bridge's user, beside projects that have users of their own";
    throw new DomainError(
      "denied",
      `the project ${JSON.stringify(project)} has no run_as in the configuration: ${why}`,
    );
  };
}
