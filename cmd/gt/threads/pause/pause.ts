import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { PAUSE_FLAGS } from "./pause-flags.ts";

/** `gt threads pause`: stop wakes of an agent, a thread, or all. */
export const pause: Command<typeof PAUSE_FLAGS> = {
  name: "pause",
  flags: PAUSE_FLAGS,
  help: {
    usage: "",
    summary: "stop wakes of an agent, a thread, or all",
    text: `Stops wakes at once; messages stay and wait. Without --agent and --thread: of the whole
workspace.`,
    notes: THREADS_CODES,
    examples: ["gt threads pause --agent gastown/nux --for 1h"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-pause.ts")).runPause(given, context),
};
