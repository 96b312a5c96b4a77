import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { ESCALATIONS_FLAGS } from "./escalations-flags.ts";

/** `gt threads escalations`: list, acknowledge and resolve escalations. */
export const escalations: Command<typeof ESCALATIONS_FLAGS> = {
  name: "escalations",
  flags: ESCALATIONS_FLAGS,
  help: {
    usage: "[id]",
    summary: "what waits for a decision, newest first",
    text: `Lists escalations, those of all owners for operators. With an id it acknowledges or resolves
that one.`,
    notes: THREADS_CODES,
    examples: ["gt threads escalations --state open", "gt threads escalations e-abc… --acknowledge"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-escalations.ts")).runEscalations(given, context),
};
