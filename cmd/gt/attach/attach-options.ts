import type { Given } from "../../../internal/cli/command/command.ts";
import { type PlaceConfig, readPlace } from "../../../internal/terminal/places/place-config.ts";
import { senderOf } from "../../../internal/terminal/trust/sender.ts";
import { takeAgent } from "../common/command/agent-arguments.ts";
import type { AttachFlags } from "./attach-flags.ts";
import { DEFAULT_DETACH_KEYS, type DetachKeys, parseDetachKeys } from "./detach-keys.ts";

export interface AttachOptions {
  readonly place: PlaceConfig;
  readonly agent: string;
  readonly readOnly: boolean;
  readonly detachKeys: DetachKeys;
  /** `--detach-keys` was given: it must have an effect. */
  readonly ownDetachKeys: boolean;
  /** The name that the caller claims. */
  readonly name: string;
}

/** @throws DomainError `invalid` */
export function readAttach(
  { values, positionals }: Given<AttachFlags>,
  env: Readonly<Record<string, string | undefined>>,
): AttachOptions {
  const place = readPlace(values, env);
  const [agent] = takeAgent("attach", positionals, place);
  const keys = values["detach-keys"];
  return {
    place,
    agent,
    readOnly: values["read-only"] ?? false,
    detachKeys: parseDetachKeys(keys ?? DEFAULT_DETACH_KEYS),
    ownDetachKeys: keys !== undefined,
    name: senderOf(env),
  };
}
