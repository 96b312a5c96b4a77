import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const PARTICIPANTS_FLAGS = {
  ...THREADS_FLAGS,
  add: { type: "list", value: "AGENT[:ROLE]", help: "a participant, and its role" },
  remove: { type: "list", value: "AGENT", help: "one that leaves" },
  wake: {
    type: "string",
    value: "WHEN",
    help: "which messages wake you: all, directed or never",
    complete: ["all", "directed", "never"],
  },
} as const satisfies CommandFlags;
