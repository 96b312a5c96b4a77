import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { WAKE_FLAGS } from "./wake-flags.ts";

/** `gt threads wake`: wake a participant. */
export const wake: Command<typeof WAKE_FLAGS> = {
  name: "wake",
  flags: WAKE_FLAGS,
  help: {
    usage: "<thread> <agent>",
    summary: "wake a participant now, for a reason",
    text: `Wakes an agent that takes part, ahead of others. --force, for operators, also types while it
works or a person was just there; a draft and a dialog are never typed over.`,
    notes: THREADS_CODES,
    examples: ['gt threads wake t-abc gastown/nux --reason "the build is red" --wait'],
  },
  completion: [],
  run: async (given, context) => (await import("./run-wake.ts")).runWake(given, context),
};
