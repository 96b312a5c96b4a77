import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { RESUME_FLAGS } from "./resume-flags.ts";

/** `gt threads resume`: resumes wakes. */
export const resume: Command<typeof RESUME_FLAGS> = {
  name: "resume",
  flags: RESUME_FLAGS,
  help: {
    usage: "",
    summary: "resume wakes",
    text: `Ends a pause: waiting agents are woken.`,
    notes: THREADS_CODES,
    examples: ["gt threads resume --agent gastown/nux"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-resume.ts")).runResume(given, context),
};
