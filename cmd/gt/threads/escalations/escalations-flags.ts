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
  acknowledge: { type: "boolean", help: "you look after it" },
  resolve: { type: "boolean", help: "it is decided" },
} as const satisfies CommandFlags;
