import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const DISPUTE_FLAGS = {
  ...THREADS_FLAGS,
  reason: { type: "string", value: "TEXT", help: "why" },
  clear: { type: "boolean", help: "end the dispute" },
} as const satisfies CommandFlags;
