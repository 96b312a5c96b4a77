import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES, THREADS_FLAGS } from "../common/threads-flags.ts";

/** `gt threads inbox`: the caller's unread messages in all threads. */
export const inbox: Command<typeof THREADS_FLAGS> = {
  name: "inbox",
  flags: THREADS_FLAGS,
  help: {
    usage: "",
    summary: "your unread messages of all threads, oldest first",
    text: "Prints what you have not acknowledged yet. Reading does not acknowledge: gt threads ack does.",
    notes: THREADS_CODES,
    examples: ["gt threads inbox"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-inbox.ts")).runInbox(given, context),
};
