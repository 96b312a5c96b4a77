import type { CommandFlags } from "../common/command.ts";
import { PLACE_FLAGS } from "../common/place-flags.ts";

export const STATUS_FLAGS = {
  ...PLACE_FLAGS,
  json: { type: "boolean", help: ["everything as JSON; without an agent an array"] },
} as const satisfies CommandFlags;

export type StatusFlags = typeof STATUS_FLAGS;
