import type { CommandFlags } from "../../../internal/cli/command/command.ts";
import { PLACE_FLAGS } from "../../../internal/terminal/places/place-flags.ts";

export const STATUS_FLAGS = {
  ...PLACE_FLAGS,
  follow: { type: "boolean", short: "f", help: "go on with what changes; of a control plane" },
  json: { type: "boolean", help: "everything as JSON; without an agent an array, with --follow an object a line" },
} as const satisfies CommandFlags;

export type StatusFlags = typeof STATUS_FLAGS;
