import type { CommandFlags } from "../../../internal/cli/command/command.ts";
import { PLACE_FLAGS } from "../../../internal/terminal/places/place-flags.ts";

export const WATCH_FLAGS = {
  ...PLACE_FLAGS,
  lines: { type: "number", short: "n", value: "N", help: "how many lines (what fits; 50 without a terminal)" },
  ansi: { type: "boolean", help: "keep colours and styling" },
  interval: { type: "duration", value: "TIME", help: "least time between two updates (100ms)" },
  json: { type: "boolean", help: "one JSON object for each update" },
} as const satisfies CommandFlags;

export type WatchFlags = typeof WATCH_FLAGS;
