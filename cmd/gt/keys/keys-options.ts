import type { KeysRequest } from "../../../internal/session/types.ts";
import { checkKeys } from "../../../internal/tmux/pane/keys.ts";
import { readRequestId, takeArguments, usageError } from "../common/command/arguments.ts";
import type { Given } from "../common/command/command.ts";
import { type PlaceConfig, readPlace } from "../common/place/place-config.ts";
import type { KeysFlags } from "./keys-flags.ts";

export interface KeysOptions {
  readonly place: PlaceConfig;
  readonly agent: string;
  readonly request: KeysRequest;
  readonly json: boolean;
}

/** @throws DomainError `invalid` */
export function readKeys(
  { values, positionals, rest }: Given<KeysFlags>,
  env: Readonly<Record<string, string | undefined>>,
): KeysOptions {
  const [agent, ...keys] = [...positionals, ...(rest ?? [])];
  takeArguments("keys", agent === undefined ? [] : [agent], ["agent"]);
  const { text, json = false } = values;
  if (text !== undefined && keys.length > 0) throw usageError("keys", "give keys or --text, not both");
  if (text === "") throw usageError("keys", "--text is empty");
  if (text === undefined && keys.length === 0) throw usageError("keys", "which keys?");
  if (text === undefined) checkKeys(keys);
  const request = { keys, text: text ?? "", requestId: readRequestId("keys", values["request-id"]) };
  return { place: readPlace(values, env), agent: agent ?? "", request, json };
}
