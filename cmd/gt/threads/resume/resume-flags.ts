import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const RESUME_FLAGS = {
  ...THREADS_FLAGS,
  agent: { type: "string", value: "AGENT", help: "only of this one" },
  thread: { type: "string", value: "THREAD", help: "only for this one" },
} as const satisfies CommandFlags;
