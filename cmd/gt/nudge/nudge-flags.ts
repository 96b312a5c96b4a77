import type { CommandFlags } from "../../../internal/cli/command/command.ts";
import { PLACE_FLAGS } from "../../../internal/terminal/places/place-flags.ts";

export const NUDGE_FLAGS = {
  ...PLACE_FLAGS,
  message: { type: "string", short: "m", value: "TEXT", help: "the message; wins over the one behind the agent" },
  stdin: { type: "boolean", help: "read the message from stdin; line feeds at its end are removed" },
  mode: {
    type: "string",
    value: "MODE",
    help: "wait-idle: type when it is idle (the default)\nimmediate: type now, even while it is working\nqueue: return at once, type at the next idle moment (needs a sidecar)",
    complete: ["wait-idle", "immediate", "queue"],
  },
  priority: {
    type: "string",
    value: "P",
    help: "normal or urgent: urgent goes ahead in the queue",
    complete: ["normal", "urgent"],
  },
  timeout: { type: "duration", value: "TIME", help: "how long to wait for the outcome (75s, at most 10m)" },
  "request-id": {
    type: "string",
    value: "ID",
    help: "the same id and message are never typed twice: asks again for the receipt",
  },
  force: { type: "boolean", short: "f", help: "even when the agent does not want to be disturbed" },
  "if-fresh": { type: "boolean", help: "send nothing when the tmux session you call from is older than a minute" },
  json: { type: "boolean", help: "the receipt as JSON" },
} as const satisfies CommandFlags;

export type NudgeFlags = typeof NUDGE_FLAGS;
