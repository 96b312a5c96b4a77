import { isObject, type Json, member } from "./json-text.ts";

/** How a session of an earlier connection is opened again. */
export type WayBack = "session/resume" | "session/load";

/**
 * What an agent can, by its answer to `initialize`: without the replay of all that was said first. Empty: its sessions
 * end with it.
 */
export function waysBack(initialized: Json): readonly WayBack[] {
  const capabilities = isObject(initialized) ? member(initialized, "agentCapabilities") : undefined;
  if (!isObject(capabilities)) return [];
  const session = member(capabilities, "sessionCapabilities");
  const resumes = isObject(session) && isObject(member(session, "resume"));
  return [
    ...(resumes ? (["session/resume"] as const) : []),
    ...(member(capabilities, "loadSession") === true ? (["session/load"] as const) : []),
  ];
}

const MAX_ID = 1024;

/** The id in an answer to `session/new`. Undefined: none, or one that is too long to be kept. */
export function sessionIdIn(made: Json): string | undefined {
  const id = isObject(made) ? member(made, "sessionId") : undefined;
  return typeof id === "string" && id !== "" && id.length <= MAX_ID ? id : undefined;
}
