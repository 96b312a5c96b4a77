import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES, THREADS_FLAGS } from "../common/threads-flags.ts";

/** `gt threads wakes`: wakes of agents with their receipts. */
export const wakes: Command<typeof THREADS_FLAGS> = {
  name: "wakes",
  flags: THREADS_FLAGS,
  help: {
    usage: "[agent]",
    summary: "wakes of agents with their receipts, newest first",
    text: "Prints the last wakes, of one agent or of all: their state, the receipt's outcome, and what blocks them.",
    notes: THREADS_CODES,
    examples: ["gt threads wakes gastown/fixer"],
  },
  completion: "agent",
  run: async (given, context) => (await import("./run-wakes.ts")).runWakes(given, context),
};
