import { type ExactJson, isObject, member } from "./json-text.ts";

/** A method that opens a session of an earlier connection again. */
export type WayBack = "session/resume" | "session/load";

/**
 * The methods that an agent supports, by its response to `initialize`: first the one that does not replay the session.
 * Empty: the agent's sessions end with its process.
 */
export function waysBack(initialized: ExactJson): readonly WayBack[] {
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

/** The id in a response to `session/new`. Undefined: the response has no id, or the id is too long to be kept. */
export function sessionIdIn(made: ExactJson): string | undefined {
  const id = isObject(made) ? member(made, "sessionId") : undefined;
  return typeof id === "string" && id !== "" && id.length <= MAX_ID ? id : undefined;
}
