import { present } from "../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import { type PlaceConfig, readPlace } from "../../../internal/terminal/places/place-config.ts";
import { isOneNumber, takeAgent } from "../common/command/agent-arguments.ts";
import { gtUsageError, readRequestId } from "../common/command/arguments.ts";
import type { RespondFlags } from "./respond-flags.ts";

export interface RespondOptions {
  readonly place: PlaceConfig;
  readonly agent: string;
  /** The key of a choice or a prefix of its label. With `text` only, the choice that asks for a text is meant. */
  readonly choice?: string;
  readonly text?: string;
  /** Absent: the open dialog. */
  readonly dialogId?: string;
  readonly requestId: string;
  readonly json: boolean;
}

/** @throws DomainError `invalid` */
export function readRespond(
  { values, positionals, rest }: Given<RespondFlags>,
  env: Readonly<Record<string, string | undefined>>,
): RespondOptions {
  const place = readPlace(values, env);
  const given = [...positionals, ...(rest ?? [])];
  const [agent, choice] = takeAgent("respond", given, place, { may: ["choice"], isNameless: isOneNumber });
  const { text, "dialog-id": dialogId, json = false } = values;
  const requestId = readRequestId("respond", values["request-id"]);
  if (requestId !== "" && !choice && !text)
    throw gtUsageError("respond", "--request-id is for an answer: give a choice or --text");
  return {
    place,
    agent,
    ...present({ choice: choice || undefined, text: text || undefined, dialogId: dialogId || undefined }),
    requestId,
    json,
  };
}
