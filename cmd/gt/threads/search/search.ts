import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { SEARCH_FLAGS } from "./search-flags.ts";

/** `gt threads search`: find messages. */
export const search: Command<typeof SEARCH_FLAGS> = {
  name: "search",
  flags: SEARCH_FLAGS,
  help: {
    usage: "[words]",
    summary: "find messages by words, sender, event, status or time",
    text: `Prints the messages that are found, newest first, each with its thread.`,
    notes: THREADS_CODES,
    examples: ["gt threads search 'empty cart' --event finding_reported"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-search.ts")).runSearch(given, context),
};
