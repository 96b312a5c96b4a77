import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const NEW_FLAGS = {
  ...THREADS_FLAGS,
  with: { type: "list", value: "AGENT[:ROLE]", help: "a participant, and its role for to_role" },
  owner: { type: "string", value: "AGENT", help: "whom escalations reach first" },
  "idempotency-key": { type: "string", value: "KEY", help: "the same key makes one thread" },
} as const satisfies CommandFlags;
