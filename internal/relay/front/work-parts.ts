import { type ExactJson, isObject, type JsonObject, member } from "../acp/json-text.ts";

/** One message of a work's result. */
export interface WorkPart {
  readonly type: ExactJson | undefined;
  readonly payload: JsonObject;
}

/** The type and payload of each result. */
export function partsOf(results: readonly JsonObject[]): readonly WorkPart[] {
  return results.map((body) => {
    const payload = member(body, "payload");
    return { type: member(body, "type"), payload: isObject(payload) ? payload : {} };
  });
}

/** The agent's text in all parts, separated by empty lines. */
export function textIn(parts: readonly WorkPart[]): string {
  const texts = parts.flatMap(({ type, payload }) => {
    const text = member(payload, "text");
    return (type === "result.success" || type === "result.partial") && typeof text === "string" ? [text] : [];
  });
  return texts.join("\n\n");
}
