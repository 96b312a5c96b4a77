import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const WAKE_FLAGS = {
  ...THREADS_FLAGS,
  reason: { type: "string", value: "TEXT", help: "why; needed" },
  force: { type: "boolean", help: "even while it works or a person was just there" },
  wait: { type: "boolean", help: "until the wake has its receipt" },
  timeout: { type: "duration", value: "TIME", help: "how long --wait waits (60s)" },
} as const satisfies CommandFlags;
