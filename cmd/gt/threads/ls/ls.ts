import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { LS_FLAGS } from "./ls-flags.ts";

/** `gt threads ls`: the caller's threads, most recently changed first. */
export const ls: Command<typeof LS_FLAGS> = {
  name: "ls",
  flags: LS_FLAGS,
  help: {
    usage: "",
    summary: "your threads, most recently changed first",
    text: `Lists the threads in which you take part; all of the workspace for operators.`,
    notes: THREADS_CODES,
    examples: ["gt threads ls", "gt threads ls --status blocked"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-ls.ts")).runLs(given, context),
};
