import type { Given } from "../../../internal/cli/command/command.ts";
import type { KeysRequest } from "../../../internal/session/types.ts";
import { type PlaceConfig, readPlace } from "../../../internal/terminal/places/place-config.ts";
import { checkKeys, isNamedKey } from "../../../internal/tmux/pane/keys.ts";
import { takeAgent } from "../common/command/agent-arguments.ts";
import { gtUsageError, readRequestId } from "../common/command/arguments.ts";
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
  const place = readPlace(values, env);
  const { text, json = false } = values;
  const given = [...positionals, ...(rest ?? [])];
  const isNameless = ([first, ...others]: readonly string[]) =>
    first === undefined || (text === undefined && (others.length === 0 || isNamedKey(first)));
  const [agent, ...keys] = takeAgent("keys", given, place, { may: given, isNameless });
  if (text !== undefined && keys.length > 0) throw gtUsageError("keys", "give keys or --text, not both");
  if (text === undefined && keys.length === 0) throw gtUsageError("keys", "which keys?");
  if (text === undefined) checkKeys(keys);
  const request = { keys, text: text ?? "", requestId: readRequestId("keys", values["request-id"]) };
  return { place, agent, request, json };
}
