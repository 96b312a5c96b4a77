import { answerOfPrompt } from "./acp-turn.ts";
import { type ExactJson, isList, isObject, type JsonObject, member } from "./json-text.ts";
import { failure, type ResultPart } from "./result-parts.ts";
import { answerOfError } from "./sampling-answer.ts";

/** The parameters of `initialize` in version 2. */
export const INITIALIZE_2 = {
  protocolVersion: 2,
  info: { name: "gastown-relay", version: "1" },
  capabilities: {},
};

/**
 * A turn of version 2. The response to `session/prompt` says only that the agent has the prompt in its conversation;
 * the turn ends when the agent reports that it is idle.
 */
export interface Acp2Turn {
  /** True: the agent was working when it was asked; that work is not this turn's. */
  readonly wasBusy: boolean;
  readonly isBusy: boolean;
  /** The response to the prompt has come. */
  readonly isAccepted: boolean;
  /** An update shows that the agent has the prompt. */
  readonly isShown: boolean;
  /** The end that came before the response. */
  readonly early: JsonObject | undefined;
  /** The update that ended the turn; undefined: it is open. */
  readonly end: JsonObject | undefined;
  /** The agent's messages, as texts by id. */
  readonly messages: ReadonlyMap<string, string>;
  /** The length of all messages; beyond `maxBytes`, they are not kept. */
  readonly bytes: number;
  readonly maxBytes: number;
}

/** The turn before its first event. `maxBytes` limits the total length of the agent's messages. */
export function beginAcp2Turn(wasBusy: boolean, maxBytes: number): Acp2Turn {
  const nothing = { isAccepted: false, isShown: false, early: undefined, end: undefined, bytes: 0 };
  return { ...nothing, wasBusy, isBusy: wasBusy, messages: new Map(), maxBytes };
}

/** The turn after the response to its prompt. */
export function afterAccepted(turn: Acp2Turn): Acp2Turn {
  return { ...turn, isAccepted: true, end: turn.end ?? turn.early };
}

/** The turn after an update of its session. */
export function afterUpdate(turn: Acp2Turn, update: JsonObject): Acp2Turn {
  if (turn.end !== undefined) return turn;
  const kind = String(member(update, "sessionUpdate"));
  if (kind === "state_update") return afterState(turn, update);
  const isEcho = kind === "user_message" || kind === "user_message_chunk";
  const isOwn = turn.isAccepted || turn.isShown || !turn.wasBusy;
  if (isEcho) return { ...turn, isShown: true };
  if (!isOwn) return turn;
  const isOutput = /^(?:agent_|tool_call|plan)/.test(kind);
  return withText({ ...turn, isShown: turn.isShown || isOutput }, kind, update);
}

/** True for the state of a session that is working, or waits for permission. Undefined: the update reports no state. */
export function isBusyIn(update: JsonObject): boolean | undefined {
  return member(update, "sessionUpdate") === "state_update" ? member(update, "state") !== "idle" : undefined;
}

/** The answer of a turn that has ended. */
export function answerOfAcp2({ end, messages, bytes, maxBytes }: Acp2Turn): readonly ResultPart[] {
  if (bytes > maxBytes) return [failure("too_large", "the agent's answer is too large")];
  const stop = (end && member(end, "stopReason")) ?? "end_turn";
  const text = [...messages.values()].join("");
  if (stop !== "error") return answerOfPrompt({ stopReason: stop }, text);
  const partial: readonly ResultPart[] = text === "" ? [] : [{ type: "result.partial", payload: { text } }];
  const error = (end && member(end, "error")) ?? { message: "the agent's work has failed" };
  return [...partial, ...answerOfError(error).parts];
}

/** The tool call of a permission request, in the form of version 1: its title is the request's. */
export function toolCallIn(request: JsonObject): ExactJson {
  const [subject, title] = [member(request, "subject"), member(request, "title") ?? null];
  const call = isObject(subject) ? member(subject, "toolCall") : undefined;
  const description = member(request, "description");
  return {
    ...(isObject(call) && call),
    title,
    ...(description !== undefined && description !== null && { description }),
    ...(subject !== undefined && subject !== null && !isObject(call) && { subject }),
  };
}

/** True if the agent speaks version 2 and has sessions. */
export function speaksVersion2(initialized: ExactJson): boolean {
  const capabilities = isObject(initialized) ? member(initialized, "capabilities") : undefined;
  const isTwo = isObject(initialized) && member(initialized, "protocolVersion") === 2;
  return isTwo && isObject(capabilities) && isObject(member(capabilities, "session"));
}

function afterState(turn: Acp2Turn, update: JsonObject): Acp2Turn {
  if (isBusyIn(update) === true) return { ...turn, isBusy: true, early: undefined };
  const isEnd = turn.isBusy || typeof member(update, "stopReason") === "string";
  const idle = { ...turn, isBusy: false };
  if (!isEnd) return idle; // the state is repeated
  if (turn.isAccepted) return { ...idle, end: update };
  return turn.isShown ? { ...idle, early: update } : idle;
}

/** Adds a chunk to its message, or replaces the content of a message. */
function withText(turn: Acp2Turn, kind: string, update: JsonObject): Acp2Turn {
  const [id, content] = [member(update, "messageId"), member(update, "content")];
  if (typeof id !== "string" || content === undefined) return turn;
  const before = turn.messages.get(id) ?? "";
  const after =
    kind === "agent_message_chunk" ? before + textOf(content) : kind === "agent_message" ? textsOf(content) : undefined;
  if (after === undefined) return turn;
  const bytes = turn.bytes + Buffer.byteLength(after) - Buffer.byteLength(before);
  if (bytes > turn.maxBytes) return { ...turn, bytes, messages: new Map() };
  return { ...turn, bytes, messages: new Map(turn.messages).set(id, after) };
}

function textsOf(content: ExactJson): string {
  return isList(content) ? content.map(textOf).join("") : "";
}

function textOf(block: ExactJson): string {
  const text = isObject(block) && member(block, "type") === "text" ? member(block, "text") : undefined;
  return typeof text === "string" ? text : "";
}
