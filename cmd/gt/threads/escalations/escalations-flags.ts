import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const ESCALATIONS_FLAGS = {
  ...THREADS_FLAGS,
  state: {
    type: "string",
    value: "STATE",
    help: "open, acknowledged or resolved",
    complete: ["open", "acknowledged", "resolved"],
  },
  acknowledge: { type: "boolean", help: "acknowledge the escalation: you are handling it" },
  resolve: { type: "boolean", help: "resolve the escalation: the decision has been made" },
} as const satisfies CommandFlags;
