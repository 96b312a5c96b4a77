import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const SEARCH_FLAGS = {
  ...THREADS_FLAGS,
  thread: { type: "string", value: "THREAD", help: "only in this one" },
  sender: { type: "string", value: "AGENT", help: "only by this one" },
  event: { type: "string", value: "TYPE", help: "only events of this type" },
  status: {
    type: "string",
    value: "STATUS",
    help: "only in threads that are so now",
    complete: ["active", "blocked", "resolved", "closed"],
  },
  since: { type: "string", value: "TIME", help: "not before, such as 2026-11-27T10:00:00Z" },
  until: { type: "string", value: "TIME", help: "before" },
  limit: { type: "number", value: "N", help: "at most this many, up to 100 (50)" },
} as const satisfies CommandFlags;
