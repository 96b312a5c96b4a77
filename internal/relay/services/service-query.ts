import { type ExactJson, isList, isObject, member } from "../acp/json-text.ts";
import type { AskedPermission } from "../front/asked-work.ts";

/** The text of the question whether an agent may do something. */
export function questionOf({ toolCall, options }: AskedPermission): string {
  const call = isObject(toolCall) ? toolCall : {};
  const what = [member(call, "title"), member(call, "kind"), member(call, "toolCallId")].find(isText) ?? "this";
  const choices = optionsIn(options).map(({ id, name }) => (name === id ? id : `${id} (${name})`));
  return `May the agent do this: ${what}\nAnswer with one of: ${choices.join(", ")}. Anything else is a refusal.`;
}

/**
 * The option that an answer names by the option's id or, in upper or lower case, by the option's name. Null: none,
 * which is a refusal.
 */
export function optionOf(answer: string, options: ExactJson): string | null {
  const word = answer.trim();
  const offered = optionsIn(options);
  const named = offered.find(({ id }) => id === word);
  return (named ?? offered.find(({ name }) => name.toLowerCase() === word.toLowerCase()))?.id ?? null;
}

function optionsIn(options: ExactJson): readonly { readonly id: string; readonly name: string }[] {
  return (isList(options) ? options : []).flatMap((option) => {
    const [id, name] = isObject(option) ? [member(option, "optionId"), member(option, "name")] : [];
    return isText(id) ? [{ id, name: isText(name) ? name : id }] : [];
  });
}

function isText(value: ExactJson | undefined): value is string {
  return typeof value === "string" && value !== "";
}
