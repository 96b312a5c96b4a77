import type { HookEvent } from "./profile.ts";

/** The name of a file that a hook leaves in the hooks' own folder: letters, digits and `._-` only. */
const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
/** The words that a file may follow. */
const WITH_FILE: ReadonlySet<string> = new Set(["session-start", "prompt-submitted", "turn-ended", "notification"]);
/** An agent program's own id of a conversation. */
const AGENT_SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/**
 * The hook FIFO's lines: `session-start [FILE]`, `session ID` (the agent's own id of its conversation),
 * `prompt-submitted [FILE]`, `turn-ended [FILE]`, `activity`, `waiting [REASON…]`, `notification FILE`. Returns the
 * name of the payload file that a line points to, without its folder; undefined if there is none or it is not a plain
 * name.
 */
export function payloadName(line: string): string | undefined {
  const [word = "", file = ""] = line.slice(0, 4096).trim().split(" ", 2);
  if (!WITH_FILE.has(word)) return undefined;
  const name = file.slice(file.lastIndexOf("/") + 1);
  return FILE_NAME.test(name) ? name : undefined;
}

/** The event with the agent's own id of its conversation, if `id` is one. */
export function inSession(event: HookEvent, id: unknown): HookEvent {
  return isSessionId(id) ? { ...event, agentSessionId: id } : event;
}

const isSessionId = (id: unknown): id is string => typeof id === "string" && AGENT_SESSION_ID.test(id);

/** Reads the lines whose meaning is the same for every agent; `prompt` is the message's text if the payload has it. */
export function readHookLine(line: string, prompt: string | undefined): HookEvent | undefined {
  const [word = "", ...rest] = line.slice(0, 4096).trim().split(" ");
  switch (word) {
    case "session-start":
    case "turn-ended":
    case "activity":
      return { type: word };
    case "session":
      return isSessionId(rest[0]) ? { type: word, agentSessionId: rest[0] } : undefined;
    case "prompt-submitted":
      return prompt === undefined ? { type: word } : { type: word, prompt };
    case "waiting":
      return { type: word, reason: rest.join(" ") || "unknown" };
    default:
      return undefined;
  }
}
