import { DomainError } from "../base/errors.ts";
import type { StartRequest } from "./session-backend.ts";

type Options = Readonly<Record<string, string>>;

/** A name of an agent: segments that begin with a letter or digit. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/;
const MAX_NAME_CHARS = 128;

/**
 * Checks `agent_opts.agent` and `.role`, which name the session's agent to other services.
 * @param roles the roles that the agents' tokens may have; empty: there are no tokens
 * @throws DomainError `invalid` for a name that cannot be used, `denied` for a role that agents may not have
 */
export function checkAgent({ agent, role }: Options, roles: readonly string[]): void {
  if (agent !== undefined && (agent.length > MAX_NAME_CHARS || !NAME.test(agent))) {
    const hint = `at most ${MAX_NAME_CHARS} letters, digits and ._-/, each segment begins with a letter or digit`;
    throw new DomainError("invalid", `agent_opts.agent is not a name: ${JSON.stringify(agent.slice(0, 64))}`, {
      fields: { option: "agent", hint },
    });
  }
  if (role === undefined || roles.includes(role)) return;
  const hint = roles.length === 0 ? "agents have roles only with session_tokens" : `roles here: ${roles.join(", ")}`;
  throw new DomainError("denied", `agents may not have the role ${JSON.stringify(role.slice(0, 64))}`, {
    fields: { option: "role", hint },
  });
}

/** The options without those that name the agent, which the provider does not get. */
export function withoutAgent({ agent: _agent, role: _role, ...options }: Options): Options {
  return options;
}

/** The address of a session's agent on one host: the project, and `agent_opts.agent`, otherwise the session's id. */
export function agentAddressOf({ project, id, agentOpts }: Pick<StartRequest, "project" | "id" | "agentOpts">): string {
  return `${project}/${agentOpts["agent"] ?? id}`;
}
