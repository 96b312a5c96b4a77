import type { Command, Program } from "../../internal/cli/command/command.ts";
import { readConfig } from "./config.ts";
import { FLAGS } from "./flags.ts";

const command: Command<typeof FLAGS> = {
  name: "demo-agent",
  flags: FLAGS,
  help: {
    usage: "",
    summary: "behave like a coding agent that does no work",
    text: "A small terminal program that behaves like a coding agent but does no work: for demonstrations and tests.",
    notes: `Faults:

  drop-first-enter  echo-delay=MS  no-bracketed-paste  flicker-idle=MS
  exit-on=TEXT  exit-code=N  hang-on=TEXT  eat-enter-after-paste=MS
  open-dialog-on-paste  spinner-always  slow-start=MS  garbage  torn-drawing=MS

Environment: GT_HOOK_FIFO (where hook lines are written), GT_HOOK_DIR (where prompt texts are stored), GT_THREADS and
GT_THREADS_TOKEN_FILE (the server of threads, and the file with its token).`,
    examples: [
      "demo-agent --seed 7 --turn-ms 400",
      "demo-agent --log /tmp/taken.jsonl --faults drop-first-enter,echo-delay=200",
    ],
  },
  completion: [],
  run: async (given, context) => {
    const config = readConfig(given, context.env);
    return await (await import("./run.ts")).run(config, context);
  },
};

/** The program `demo-agent`, which behaves like an agent. */
export const demoAgent: Program = command;
