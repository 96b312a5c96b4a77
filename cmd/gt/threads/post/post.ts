import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { POST_FLAGS } from "./post-flags.ts";

/** `gt threads post`: write into a thread. */
export const post: Command<typeof POST_FLAGS> = {
  name: "post",
  flags: POST_FLAGS,
  help: {
    usage: "<thread> <text>",
    summary: "write into a thread",
    text: `Writes a message; - reads it from standard input. Idle recipients are woken.`,
    notes: THREADS_CODES,
    examples: ['gt threads post t-abc "please look again" --role reviewer --wait'],
  },
  completion: [],
  run: async (given, context) => (await import("./run-post.ts")).runPost(given, context),
};
