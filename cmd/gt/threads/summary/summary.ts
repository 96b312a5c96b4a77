import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { SUMMARY_FLAGS } from "./summary-flags.ts";

/** `gt threads summary`: a digest of a thread. */
export const summary: Command<typeof SUMMARY_FLAGS> = {
  name: "summary",
  flags: SUMMARY_FLAGS,
  help: {
    usage: "<thread>",
    summary: "what a thread is about, in a few lines",
    text: `Prints a digest: state, open findings, decisions, the last messages. --store keeps your own
summary in the thread, and later digests begin with it.`,
    notes: THREADS_CODES,
    examples: ["gt threads summary t-abc --bytes 1000"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-summary.ts")).runSummary(given, context),
};
