import type { CommandFlags } from "../../../internal/cli/command/command.ts";
import { PLACE_FLAGS } from "../../../internal/terminal/places/place-flags.ts";

export const RESPOND_FLAGS = {
  ...PLACE_FLAGS,
  text: { type: "string", value: "TEXT", help: "one line, for a choice that asks for text" },
  "dialog-id": {
    type: "string",
    value: "ID",
    help: "only this dialog (gt status --json shows its id); else the one that is open",
  },
  "request-id": {
    type: "string",
    value: "ID",
    help: "the same id and answer are never pressed twice by its sidecar",
  },
  json: { type: "boolean", help: "everything as JSON" },
} as const satisfies CommandFlags;

export type RespondFlags = typeof RESPOND_FLAGS;
