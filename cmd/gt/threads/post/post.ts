import type { Command, CommandFlags } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES, THREADS_FLAGS } from "../common/threads-flags.ts";

export const POST_FLAGS = {
  ...THREADS_FLAGS,
  to: { type: "list", value: "AGENT", help: "for this agent only" },
  role: { type: "list", value: "ROLE", help: "for those with this role" },
  reply: { type: "string", value: "MESSAGE", help: "the message that this answers" },
  event: { type: "string", value: "TYPE", help: "a typed event, such as fix_pushed" },
  metadata: { type: "string", value: "JSON", help: "its fields, an object" },
  urgent: { type: "boolean", help: "wake at once, before others" },
  quiet: { type: "boolean", help: "wake no one" },
  key: { type: "string", value: "KEY", help: "the same key stores one message" },
  wait: { type: "boolean", help: "until each wake has its receipt" },
  timeout: { type: "duration", value: "TIME", help: "how long --wait waits (60s)" },
} as const satisfies CommandFlags;

/** `gt threads post`: write into a thread. */
export const post: Command<typeof POST_FLAGS> = {
  name: "post",
  flags: POST_FLAGS,
  help: {
    usage: "<thread> <text>",
    summary: "write into a thread",
    text: `Writes a message; - reads it from standard input. Idle recipients are woken.`,
    notes: THREADS_CODES,
    examples: ["gt threads post t-abc \"please look again\" --role reviewer --wait"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-post.ts")).runPost(given, context),
};
