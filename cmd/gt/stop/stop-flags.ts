import type { CommandFlags } from "../../../internal/cli/command/command.ts";
import { PLACE_FLAGS } from "../../../internal/terminal/places/place-flags.ts";

export const STOP_FLAGS = {
  ...PLACE_FLAGS,
  grace: {
    type: "duration",
    value: "TIME",
    help: "time between asking and killing (what its sidecar was started with; at most 10m)",
  },
  force: { type: "boolean", short: "f", help: "kill at once" },
  json: { type: "boolean", help: "the result as JSON" },
} as const satisfies CommandFlags;

export type StopFlags = typeof STOP_FLAGS;
