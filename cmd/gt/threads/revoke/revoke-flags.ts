import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const REVOKE_FLAGS = {
  ...THREADS_FLAGS,
  session: { type: "string", value: "SESSION", help: "all tokens of this session, later ones too" },
} as const satisfies CommandFlags;
