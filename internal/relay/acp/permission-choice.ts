import { type ExactJson, isList, isObject, member } from "./json-text.ts";

/** The outcome in the response to `session/request_permission`. */
export type PermissionOutcome =
  | { readonly outcome: "cancelled" }
  | { readonly outcome: "selected"; readonly optionId: string };

/** The decision of a person or a policy. */
export type PermissionDecision =
  | { readonly type: "granted"; readonly optionId: string | undefined }
  | { readonly type: "denied" };

/**
 * Translates a decision into the agent's options. Granted without an option: `allow_once`, never `allow_always`.
 * Denied, or granted with an option that the agent does not offer: `reject_once`, or cancelled if the agent does not
 * offer that either.
 */
export function outcomeOf(options: ExactJson | undefined, decision: PermissionDecision): PermissionOutcome {
  const offered = isList(options) ? options.filter(isObject) : [];
  const kindOf = (kind: string) => offered.find((option) => member(option, "kind") === kind);
  const named =
    decision.type === "denied"
      ? kindOf("reject_once")
      : decision.optionId === undefined
        ? kindOf("allow_once")
        : offered.find((option) => member(option, "optionId") === decision.optionId);
  const optionId = (named ?? kindOf("reject_once"))?.["optionId"];
  return typeof optionId === "string" ? { outcome: "selected", optionId } : { outcome: "cancelled" };
}
