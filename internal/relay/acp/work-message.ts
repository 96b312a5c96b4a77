import { createHash } from "node:crypto";
import { canonicalJson, type ExactJson, isList, isObject, type JsonObject, member, readJson } from "./json-text.ts";

/** Work as a coordinator publishes it on `sessions.{sid}.work.{role}`. */
export interface WorkMessage {
  readonly id: string;
  readonly type: string;
  readonly payload: JsonObject;
  /** SHA-256 of type and payload, in hex. Messages with the same id and hash are the same work. */
  readonly hash: string;
}

/** The reason why work is refused for good. `id`: the message's id, if that is valid. */
export interface WorkRefusal {
  readonly reason: RefusalReason;
  readonly id: string | undefined;
}

type RefusalReason = "invalid_message" | "session_mismatch" | "unknown_type" | "too_large" | "id_reused" | "unsigned";

/** The lane that a message was published for, and the limit of its size. */
export interface WorkPlace {
  readonly sessionId: string;
  readonly role: string;
  /** The longest body, in bytes. */
  readonly maxBytes: number;
}

const MAX_ID = 256;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Reads the body of a work message that was published on the subject of `place`. */
export function readWork(body: Uint8Array, place: WorkPlace): WorkMessage | WorkRefusal {
  const value = readJson(textOf(body));
  const id = isObject(value) ? idOf(member(value, "id")) : undefined;
  // The server's max_payload bounds what is parsed here: with the id, the publisher gets an answer.
  if (body.length > place.maxBytes) return { reason: "too_large", id };
  if (!isObject(value)) return { reason: "invalid_message", id };
  const type = member(value, "type");
  const payload = member(value, "payload") ?? {};
  if (id === undefined || typeof type !== "string" || !isObject(payload)) return { reason: "invalid_message", id };
  const session = member(value, "session_id");
  if (session !== undefined && session !== place.sessionId) return { reason: "session_mismatch", id };
  if (type !== "tool_result" && type !== `work.${place.role}`) return { reason: "unknown_type", id };
  if (!(type === "tool_result" ? isToolResult(payload) : isTask(payload))) return { reason: "invalid_message", id };
  const hash = createHash("sha256").update(canonicalJson({ type, payload })).digest("hex");
  return { id, type, payload, hash };
}

export function isRefusal(work: WorkMessage | WorkRefusal): work is WorkRefusal {
  return "reason" in work;
}

function textOf(body: Uint8Array): string {
  try {
    return decoder.decode(body);
  } catch {
    return "";
  }
}

function idOf(id: ExactJson | undefined): string | undefined {
  return typeof id === "string" && id !== "" && id.length <= MAX_ID ? id : undefined;
}

function isToolResult(payload: JsonObject): boolean {
  return typeof member(payload, "tool_id") === "string" && member(payload, "content") !== undefined;
}

/** True for a task with or without requirements, for a list of messages, and for a prompt of content blocks. */
function isTask(payload: JsonObject): boolean {
  const messages = member(payload, "messages");
  if (messages !== undefined) return isList(messages) && messages.length > 0 && messages.every(isObject);
  const prompt = member(payload, "prompt");
  if (prompt !== undefined) return isList(prompt) && prompt.length > 0 && prompt.every(isObject);
  const requirements = member(payload, "requirements");
  return typeof member(payload, "task") === "string" && (requirements === undefined || isList(requirements));
}
