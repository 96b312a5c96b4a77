import type { Command, CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES, THREADS_FLAGS } from "../common/threads-flags.ts";

export const READ_FLAGS = {
  ...THREADS_FLAGS,
  new: { type: "boolean", help: "only what is not acknowledged yet" },
  wait: { type: "duration", value: "TIME", help: "wait for a message, at most 25s; 5 when none came" },
  ack: { type: "boolean", help: "acknowledge what was printed" },
  after: { type: "number", value: "SEQ", help: "only messages after this one" },
} as const satisfies CommandFlags;

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
