import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { AUDIT_FLAGS } from "./audit-flags.ts";

/** `gt threads audit`: the audit trail, and a check of its hashes. */
export const audit: Command<typeof AUDIT_FLAGS> = {
  name: "audit",
  flags: AUDIT_FLAGS,
  help: {
    usage: "[verify]",
    summary: "what was decided by whom; verify checks the chains",
    text: `Prints the audit trail, for operators and auditors. verify looks at every hash of the trail
and of every thread, names the first broken row of each, and exits with 7 when one is.`,
    notes: THREADS_CODES,
    examples: ["gt threads audit --after 100", "gt threads audit verify"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-audit.ts")).runAudit(given, context),
};
