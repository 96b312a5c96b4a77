import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { NEW_FLAGS } from "./new-flags.ts";

/** `gt threads new`: start a thread. */
export const newThread: Command<typeof NEW_FLAGS> = {
  name: "new",
  flags: NEW_FLAGS,
  help: {
    usage: "<title>",
    summary: "start a thread",
    text: `Starts a thread; you are its first participant. Prints its id.`,
    notes: THREADS_CODES,
    examples: ['gt threads new "review of #12" --with mayor --with gastown/nux:fixer'],
  },
  completion: [],
  run: async (given, context) => (await import("./run-new.ts")).runNew(given, context),
};
