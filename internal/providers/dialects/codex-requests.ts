import { asObjects, asText, type Json, objectAt } from "../../base/json-fields.ts";
import type { DialogAnswer, Question } from "../conversation/dialog-policy.ts";
import { toolInputText } from "../conversation/tool-text.ts";

/** A question of Codex, and the answer in Codex's own words for each decision. */
export interface CodexRequest {
  readonly question: Question;
  readonly answers: Readonly<Record<DialogAnswer, object>>;
}

const CHOICES = ["Allow", "Deny"];

/**
 * Undefined for a method that does not ask for a decision. `changes`: the files that the request's item edits. Pure.
 */
export function readCodexRequest(method: string, params: Json, changes: string): CodexRequest | undefined {
  const reason = asText(params["reason"]);
  const decision = { allow: { decision: "accept" }, deny: { decision: "decline" } };
  switch (method) {
    case "item/commandExecution/requestApproval":
      return permission("Run this command?", asText(params["command"]) || reason, decision);
    case "item/fileChange/requestApproval":
      return permission("Change these files?", changes || reason, decision);
    case "item/permissions/requestApproval": {
      const granted = { permissions: objectAt(params, "permissions"), scope: "turn" };
      return permission("Grant these permissions?", reason || JSON.stringify(params["permissions"] ?? {}), {
        allow: granted,
        deny: { permissions: {}, scope: "turn" },
      });
    }
    case "item/tool/requestUserInput":
      return asked(toolInputText({ questions: asObjects(params["questions"]) }), { answers: {} });
    case "mcpServer/elicitation/request":
      return asked(asText(params["message"]), { action: "decline", content: null, _meta: null });
    default:
      return undefined;
  }
}

function permission(title: string, text: string, answers: CodexRequest["answers"]): CodexRequest {
  return { question: { kind: "permission", title, text, choices: CHOICES }, answers };
}

/** A question that only a person could answer. */
function asked(text: string, deny: object): CodexRequest {
  return { question: { kind: "question", title: "A question", text, choices: [] }, answers: { allow: deny, deny } };
}
