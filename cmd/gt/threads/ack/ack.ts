import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES, THREADS_FLAGS } from "../common/threads-flags.ts";

/** `gt threads ack`: acknowledge messages of a thread. */
export const ack: Command<typeof THREADS_FLAGS> = {
  name: "ack",
  flags: THREADS_FLAGS,
  help: {
    usage: "<thread> [seq]",
    summary: "acknowledge what you have dealt with",
    text: `Moves your last-seen marker to a message, by default the newest one.`,
    notes: THREADS_CODES,
    examples: ["gt threads ack t-abc 12"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-ack.ts")).runAck(given, context),
};
