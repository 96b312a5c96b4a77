import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES, THREADS_FLAGS } from "../common/threads-flags.ts";

/** `gt threads policy`: show and set the workspace's policy. */
export const policy: Command<typeof THREADS_FLAGS> = {
  name: "policy",
  flags: THREADS_FLAGS,
  help: {
    usage: "[key=value...]",
    summary: "how threads of this workspace are run; set keys of it",
    text: `Prints the policy, or sets keys of it, which is for operators. Times are milliseconds; a value
is JSON, or a text.`,
    notes: THREADS_CODES,
    examples: ["gt threads policy orchestrator=mayor turns=30"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-policy.ts")).runPolicy(given, context),
};
