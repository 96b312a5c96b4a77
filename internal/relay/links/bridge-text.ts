import { promptBlocks } from "../acp/acp-turn.ts";
import { type ExactJson, isObject, member } from "../acp/json-text.ts";
import { failure, type ResultPart } from "../acp/result-parts.ts";
import type { WorkMessage } from "../acp/work-message.ts";

/** The longest input that a bridge accepts, in bytes. */
const MAX_TEXT = 64 * 1024;

/** Translates work into one text for an agent behind a bridge; a failure if a text cannot express the work. */
export function inputText(work: WorkMessage): string | ResultPart {
  const texts = promptBlocks(work).map(textOfBlock);
  if (texts.includes(undefined)) return unsupported("a bridge's session takes text, links and texts of resources only");
  const text = texts.join("\n\n");
  if (text.trim() === "") return unsupported("the prompt has no text");
  if (Buffer.byteLength(text) > MAX_TEXT) return failure("too_large", `a bridge takes prompts up to ${MAX_TEXT} bytes`);
  return text;
}

function textOfBlock(block: ExactJson): string | undefined {
  if (!isObject(block)) return undefined;
  const resource = member(block, "resource");
  const said = {
    text: member(block, "text"),
    resource_link: member(block, "uri"),
    resource: isObject(resource) ? member(resource, "text") : undefined,
  }[String(member(block, "type"))];
  return typeof said === "string" ? said : undefined;
}

function unsupported(error: string): ResultPart {
  return { type: "result.failure", payload: { error, reason: "unsupported" } };
}
