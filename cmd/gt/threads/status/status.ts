import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { THREAD_STATUS_FLAGS } from "./status-flags.ts";

/** `gt threads status`: set a thread's status. */
export const status: Command<typeof THREAD_STATUS_FLAGS> = {
  name: "status",
  flags: THREAD_STATUS_FLAGS,
  help: {
    usage: "<thread> <status>",
    summary: "set a thread to active, blocked, resolved or closed",
    text: `Changes a thread's status as far as your role may. A thread that the loop guard has blocked continues when it is set
to active.`,
    notes: THREADS_CODES,
    examples: ['gt threads status t-abc active --reason "go on, but agree first"'],
  },
  completion: [],
  run: async (given, context) => (await import("./run-status.ts")).runThreadStatus(given, context),
};
