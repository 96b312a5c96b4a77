import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const ESCALATE_FLAGS = {
  ...THREADS_FLAGS,
  severity: {
    type: "string",
    value: "WORD",
    help: "low, medium or high; default: medium",
    complete: ["low", "medium", "high"],
  },
  owner: {
    type: "string",
    value: "AGENT",
    help: "the agent or person who decides; default: the thread's owner, else the orchestrator, else operators",
  },
} as const satisfies CommandFlags;
