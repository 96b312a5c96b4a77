import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const READ_FLAGS = {
  ...THREADS_FLAGS,
  new: { type: "boolean", help: "only what is not acknowledged yet" },
  wait: { type: "duration", value: "TIME", help: "wait for a message, at most 25s; 5 when none came" },
  ack: { type: "boolean", help: "acknowledge what was printed" },
  after: { type: "number", value: "SEQ", help: "only messages after this one" },
} as const satisfies CommandFlags;
