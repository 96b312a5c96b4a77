import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const THREAD_STATUS_FLAGS = {
  ...THREADS_FLAGS,
  reason: { type: "string", value: "TEXT", help: "why" },
} as const satisfies CommandFlags;
