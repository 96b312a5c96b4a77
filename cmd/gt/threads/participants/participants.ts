import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { PARTICIPANTS_FLAGS } from "./participants-flags.ts";

/** `gt threads participants`: list, add and remove participants. */
export const participants: Command<typeof PARTICIPANTS_FLAGS> = {
  name: "participants",
  flags: PARTICIPANTS_FLAGS,
  help: {
    usage: "<thread>",
    summary: "who takes part; add and remove participants",
    text: `Prints who takes part in a thread, after the changes that the flags ask for.`,
    notes: THREADS_CODES,
    examples: ["gt threads participants t-abc --add gastown/nux:fixer"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-participants.ts")).runParticipants(given, context),
};
