import { asText, parseObject } from "../../base/json-fields.ts";
import type { Question } from "../conversation/dialog-policy.ts";
import { toolCallText, toolResultText } from "../conversation/tool-text.ts";

/** The meaning of a line of `demo-agent --stdio`. */
export type DemoLine =
  | { readonly type: "ready"; readonly session: string }
  | { readonly type: "taken"; readonly id: string; readonly held: boolean }
  | { readonly type: "started" | "done"; readonly id: string }
  | { readonly type: "output"; readonly text: string }
  | { readonly type: "asks"; readonly id: string; readonly question: Question };

/** Undefined for a line that is not of the protocol. Pure. */
export function readDemoLine(line: string): DemoLine | undefined {
  const json = parseObject(line);
  const type = json?.["type"];
  const id = asText(json?.["id"]);
  switch (type) {
    case "ready":
      return { type, session: asText(json?.["session"]) };
    case "taken":
      return { type, id, held: json?.["held"] === true };
    case "started":
    case "done":
      return { type, id };
    case "text":
      return { type: "output", text: asText(json?.["text"]) };
    case "tool":
      return { type: "output", text: toolCallText(asText(json?.["call"])) + toolResultText(asText(json?.["result"])) };
    case "error":
      return { type: "output", text: `${asText(json?.["text"])}\n` };
    case "asks":
      return { type, id, question: questionOf(json ?? {}) };
    default:
      return undefined;
  }
}

function questionOf(json: Readonly<Record<string, unknown>>): Question {
  const choices = json["choices"];
  return {
    kind: json["kind"] === "permission" ? "permission" : "question",
    title: asText(json["title"]),
    text: asText(json["text"]),
    choices: Array.isArray(choices) ? choices.map(asText) : [],
  };
}
