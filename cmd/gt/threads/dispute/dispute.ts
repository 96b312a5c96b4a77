import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { DISPUTE_FLAGS } from "./dispute-flags.ts";

/** `gt threads dispute`: mark a thread as disputed, or end the dispute. */
export const dispute: Command<typeof DISPUTE_FLAGS> = {
  name: "dispute",
  flags: DISPUTE_FLAGS,
  help: {
    usage: "<thread>",
    summary: "mark a thread as disputed, or end the dispute",
    text: `Marks a thread as disputed: then only an operator resolves or closes it. --clear ends the
dispute, which is for operators.`,
    notes: THREADS_CODES,
    examples: ['gt threads dispute t-abc --reason "the fix is wrong"'],
  },
  completion: [],
  run: async (given, context) => (await import("./run-dispute.ts")).runDispute(given, context),
};
