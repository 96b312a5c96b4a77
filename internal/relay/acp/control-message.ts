import { type ExactJson, isList, isObject, member, readJson, writeJson } from "./json-text.ts";

/** A request to a lane on `sessions.{sid}.control.{role}`. `id` names the work. */
export type ControlRequest =
  | { readonly type: "cancel"; readonly id: string; readonly by: string }
  | { readonly type: "steer"; readonly id: string | undefined; readonly prompt: readonly ExactJson[] }
  | { readonly type: "status"; readonly id: string | undefined };

export interface ControlRefusal {
  readonly reason: "invalid_message" | "session_mismatch" | "unknown_type" | "too_large" | "unsigned" | "unavailable";
  readonly error: string;
}

const MAX_ID = 256;

/** Reads `{id, session_id?, type, payload?}` from the control subject of a lane of `sessionId`. */
export function readControl(text: string, sessionId: string): ControlRequest | ControlRefusal {
  const value = readJson(text);
  if (!isObject(value)) return invalid("the body is not a JSON object");
  const [session, type, id] = [member(value, "session_id"), member(value, "type"), member(value, "id")];
  const payload = member(value, "payload") ?? {};
  if (session !== undefined && session !== sessionId) {
    return { reason: "session_mismatch", error: "session_id is not the subject's" };
  }
  if (!isObject(payload)) return invalid("payload is an object");
  if (id !== undefined && !isText(id)) return invalid("id is the work's: text");
  switch (type) {
    case "cancel": {
      const by = member(payload, "by") ?? "control";
      if (id === undefined) return invalid("id is missing: which work?");
      return isText(by) ? { type, id, by } : invalid("by is a name");
    }
    case "steer": {
      const prompt = promptOf(member(payload, "prompt"), member(payload, "text"));
      return prompt === undefined ? invalid("payload has text, or prompt: a list of blocks") : { type, id, prompt };
    }
    case "status":
      return { type, id };
    default:
      return { reason: "unknown_type", error: "type is cancel, steer or status" };
  }
}

export function isControlRefusal(message: ControlRequest | ControlRefusal): message is ControlRefusal {
  return "reason" in message;
}

/** The body of the reply to `message`. */
export function controlReply(
  { type, id }: ControlRequest,
  lane: { readonly sessionId: string; readonly role: string },
  payload: Readonly<Record<string, unknown>>,
): string {
  return writeJson({ id, session_id: lane.sessionId, role: lane.role, type, payload });
}

export function controlError(
  lane: { readonly sessionId: string; readonly role: string },
  { reason, error }: ControlRefusal,
): string {
  const payload = { error, reason };
  return writeJson({ session_id: lane.sessionId, role: lane.role, type: "control.error", payload });
}

function promptOf(prompt: ExactJson | undefined, text: ExactJson | undefined): readonly ExactJson[] | undefined {
  if (isList(prompt)) return prompt.length > 0 && prompt.every(isObject) ? prompt : undefined;
  return typeof text === "string" && text !== "" ? [{ type: "text", text }] : undefined;
}

function isText(value: ExactJson): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_ID;
}

function invalid(error: string): ControlRefusal {
  return { reason: "invalid_message", error };
}
