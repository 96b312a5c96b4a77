import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

export const POST_FLAGS = {
  ...THREADS_FLAGS,
  to: { type: "list", value: "AGENT", help: "for this agent only" },
  role: { type: "list", value: "ROLE", help: "for those with this role" },
  reply: { type: "string", value: "MESSAGE", help: "the message that this answers" },
  event: { type: "string", value: "TYPE", help: "a typed event, such as fix_pushed" },
  metadata: { type: "string", value: "JSON", help: "its fields, an object" },
  urgent: { type: "boolean", help: "wake at once, before others" },
  quiet: { type: "boolean", help: "wake no one" },
  "idempotency-key": { type: "string", value: "KEY", help: "the same key stores one message" },
  wait: { type: "boolean", help: "until each wake has its receipt" },
  timeout: { type: "duration", value: "TIME", help: "how long --wait waits (60s)" },
} as const satisfies CommandFlags;
