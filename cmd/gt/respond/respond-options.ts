import { present, readRequestId, takeArguments, usageError } from "../common/command/arguments.ts";
import type { Given } from "../common/command/command.ts";
import { type PlaceConfig, readPlace } from "../common/place/place-config.ts";
import type { RespondFlags } from "./respond-flags.ts";

export interface RespondOptions {
  readonly place: PlaceConfig;
  readonly agent: string;
  /** Key of a choice or a prefix of its label; absent with `text`: the choice that asks for one. */
  readonly choice?: string;
  readonly text?: string;
  /** Absent: the dialog that is open. */
  readonly dialogId?: string;
  readonly requestId: string;
  readonly json: boolean;
}

/** @throws DomainError `invalid` */
export function readRespond(
  { values, positionals, rest }: Given<RespondFlags>,
  env: Readonly<Record<string, string | undefined>>,
): RespondOptions {
  const [agent = "", choice] = takeArguments("respond", [...positionals, ...(rest ?? [])], ["agent"], ["choice"]);
  const { text, "dialog-id": dialogId, json = false } = values;
  const requestId = readRequestId("respond", values["request-id"]);
  if (requestId !== "" && !choice && !text)
    throw usageError("respond", "--request-id is for an answer: give a choice or --text");
  return {
    place: readPlace(values, env),
    agent,
    ...present({ choice: choice || undefined, text: text || undefined, dialogId: dialogId || undefined }),
    requestId,
    json,
  };
}
