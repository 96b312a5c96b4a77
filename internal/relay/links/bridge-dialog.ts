import type { ExactJson } from "../acp/json-text.ts";
import type { PermissionRequest } from "../lanes/permissions.ts";
import type { BridgeDialog } from "./bridge-sessions.ts";

type OptionKind = "allow_once" | "allow_always" | "reject_once";

const MAX_CHOICES = 32;
const MAX_TITLE = 1024;
const MAX_TEXT = 16 * 1024;

/** Translates a dialog on an agent's screen into an ACP permission request. */
export function requestOfDialog(workId: string, { id, kind, title, text, choices }: BridgeDialog): PermissionRequest {
  const shown = text.slice(0, MAX_TEXT);
  const content: ExactJson = shown === "" ? [] : [{ type: "content", content: { type: "text", text: shown } }];
  return {
    workId,
    toolCall: {
      ...{ toolCallId: id, title: title.slice(0, MAX_TITLE) || kind, kind: "other", status: "pending", content },
      _meta: { "relay.dialog": kind },
    },
    options: choices.slice(0, MAX_CHOICES).map(({ key, label }) => {
      const means = meaningOf(label);
      return { optionId: key, name: label.slice(0, MAX_TITLE), kind: means };
    }),
  };
}

/** The kind of a choice. Undefined: it neither allows nor refuses, such as an answer to a question. */
function meaningOf(label: string): OptionKind | undefined {
  if (/^(?:no\b|reject|deny|decline|cancel|exit|quit|abort|don.t allow)/i.test(label)) return "reject_once";
  const isLasting = /always|don.t ask|don.t show|remember|auto-?accept|all edits|this session|for (?:the|this)/i;
  const isLeave = /^(?:yes\b|allow|approve|accept|proceed|continue|trust|ok\b)/i.test(label);
  if (isLasting.test(label)) return "allow_always";
  return isLeave ? "allow_once" : undefined;
}
