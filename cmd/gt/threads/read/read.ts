import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { READ_FLAGS } from "./read-flags.ts";

/** `gt threads read`: messages of a thread. */
export const read: Command<typeof READ_FLAGS> = {
  name: "read",
  flags: READ_FLAGS,
  help: {
    usage: "<thread>",
    summary: "messages of a thread",
    text: `Prints the messages of a thread. Reading does not acknowledge: --ack does.`,
    notes: THREADS_CODES,
    examples: ["gt threads read t-abc --new --wait 20s --ack"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-read.ts")).runRead(given, context),
};
