import type { CommandFlags } from "../../../internal/cli/command/command.ts";
import { PLACE_FLAGS } from "../../../internal/terminal/places/place-flags.ts";

export const KEYS_FLAGS = {
  ...PLACE_FLAGS,
  text: { type: "string", value: "TEXT", help: "type this text as it is instead of pressing keys" },
  "request-id": {
    type: "string",
    value: "ID",
    help: "the same id and keys are never pressed twice (needs a sidecar)",
  },
  json: { type: "boolean", help: "the result as JSON" },
} as const satisfies CommandFlags;

export type KeysFlags = typeof KEYS_FLAGS;
