import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const CONNECT_FLAGS = {
  ...THREADS_FLAGS,
  "token-file": {
    type: "string",
    env: "GT_THREADS_TOKEN_FILE",
    value: "FILE",
    help: "the file with the agent's token (threads token --file)",
    complete: "file",
  },
} as const satisfies CommandFlags;
