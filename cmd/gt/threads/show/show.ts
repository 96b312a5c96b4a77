import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES, THREADS_FLAGS } from "../common/threads-flags.ts";

/** `gt threads show`: a thread, its participants and all its messages. */
export const show: Command<typeof THREADS_FLAGS> = {
  name: "show",
  flags: THREADS_FLAGS,
  help: {
    usage: "<thread>",
    summary: "a thread, its participants and its messages",
    text: `Shows a thread with its participants, messages and wakes.`,
    notes: THREADS_CODES,
    examples: ["gt threads show t-abc"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-show.ts")).runShow(given, context),
};
