import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES, THREADS_FLAGS } from "../common/threads-flags.ts";

/** `gt threads sessions`: sessions of agents. */
export const sessions: Command<typeof THREADS_FLAGS> = {
  name: "sessions",
  flags: THREADS_FLAGS,
  help: {
    usage: "",
    summary: "sessions that have called or were woken",
    text: `Prints each session: its agent, whether a runtime has confirmed it, and its last sign of life.`,
    notes: THREADS_CODES,
    examples: ["gt threads sessions"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-sessions.ts")).runThreadSessions(given, context),
};
