import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { ESCALATE_FLAGS } from "./escalate-flags.ts";

/** `gt threads escalate`: ask for a decision. */
export const escalate: Command<typeof ESCALATE_FLAGS> = {
  name: "escalate",
  flags: ESCALATE_FLAGS,
  help: {
    usage: "<thread> <reason>",
    summary: "ask the owner, the orchestrator or people for a decision",
    text: `The escalation includes a digest of the thread. If it is not acknowledged in time, it goes to the operators.`,
    notes: THREADS_CODES,
    examples: ['gt threads escalate t-abc "we disagree on the API" --severity high'],
  },
  completion: [],
  run: async (given, context) => (await import("./run-escalate.ts")).runEscalate(given, context),
};
