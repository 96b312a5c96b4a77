import type { CommandFlags } from "../../../internal/cli/command/command.ts";
import { PLACE_FLAGS } from "../../../internal/terminal/places/place-flags.ts";

export const ATTACH_FLAGS = {
  ...PLACE_FLAGS,
  "read-only": { type: "boolean", short: "r", help: "look only: your keys are not sent, and the window's size stays" },
  "detach-keys": { type: "string", value: "KEYS", help: "keys that leave (ctrl-]), as in ctrl-p,ctrl-q" },
} as const satisfies CommandFlags;

export type AttachFlags = typeof ATTACH_FLAGS;
