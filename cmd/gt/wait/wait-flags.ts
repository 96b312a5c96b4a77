import type { CommandFlags } from "../../../internal/cli/command/command.ts";
import { PLACE_FLAGS } from "../../../internal/terminal/places/place-flags.ts";
import { GOALS } from "./wait-goal.ts";

export const WAIT_FLAGS = {
  ...PLACE_FLAGS,
  for: {
    type: "string",
    value: "STATE",
    help: "idle: it takes a message now\ndone: it is idle, and nothing that it started runs in the background\ndialog: a dialog waits for an answer\ndead: its process has ended, and no restart is due",
    complete: GOALS,
  },
  timeout: { type: "duration", value: "TIME", help: "how long to wait (10m, at most 24h)" },
  json: { type: "boolean", help: "what was reached, or not, as JSON" },
} as const satisfies CommandFlags;

export type WaitFlags = typeof WAIT_FLAGS;
