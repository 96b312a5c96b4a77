import type { Command, CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES, THREADS_FLAGS } from "../common/threads-flags.ts";

export const NEW_FLAGS = {
  ...THREADS_FLAGS,
  with: { type: "list", value: "AGENT[:ROLE]", help: "a participant, and its role for to_role" },
  owner: { type: "string", value: "AGENT", help: "whom escalations reach first" },
  key: { type: "string", value: "KEY", help: "the same key makes one thread" },
} as const satisfies CommandFlags;

/** `gt threads new`: start a thread. */
export const newThread: Command<typeof NEW_FLAGS> = {
  name: "new",
  flags: NEW_FLAGS,
  help: {
    usage: "<title>",
    summary: "start a thread",
    text: `Starts a thread; you are its first participant. Prints its id.`,
    notes: THREADS_CODES,
    examples: ["gt threads new \"review of #12\" --with gastown/reviewer:reviewer --with gastown/fixer:fixer"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-new.ts")).runNew(given, context),
};
