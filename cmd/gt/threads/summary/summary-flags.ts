import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const SUMMARY_FLAGS = {
  ...THREADS_FLAGS,
  bytes: { type: "number", value: "N", help: "at most this many, 256 to 16384 (4096)" },
  store: { type: "string", value: "TEXT", help: "your own summary" },
} as const satisfies CommandFlags;
