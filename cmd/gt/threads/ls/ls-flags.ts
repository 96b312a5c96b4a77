import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const LS_FLAGS = {
  ...THREADS_FLAGS,
  status: {
    type: "list",
    value: "STATUS",
    help: "active, blocked, resolved, closed",
    complete: ["active", "blocked", "resolved", "closed"],
  },
  unread: { type: "boolean", help: "only those with something unread" },
} as const satisfies CommandFlags;
