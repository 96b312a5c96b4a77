import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const AUDIT_FLAGS = {
  ...THREADS_FLAGS,
  after: { type: "number", value: "SEQ", help: "only rows after this one" },
  limit: { type: "number", value: "N", help: "at most this many, up to 500 (50)" },
} as const satisfies CommandFlags;
