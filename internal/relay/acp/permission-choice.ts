import { isList, isObject, type Json, member } from "./json-text.ts";

/** The outcome of a `session/request_permission`, as the agent is answered. */
export type PermissionOutcome =
  | { readonly outcome: "cancelled" }
  | { readonly outcome: "selected"; readonly optionId: string };

/** What a person or a policy said. */
export type Decision =
  | { readonly type: "granted"; readonly optionId: string | undefined }
  | { readonly type: "denied" };

/**
 * The outcome for a decision among the agent's options. Granted without an option: `allow_once`, never
 * `allow_always`. Denied: `reject_once` where there is one, else cancelled; so too for an option that was not offered.
 */
export function outcomeOf(options: Json | undefined, decision: Decision): PermissionOutcome {
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
