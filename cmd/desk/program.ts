import { DomainError } from "../../internal/base/errors.ts";
import type { Command, Program } from "../../internal/cli/command/command.ts";
import { systemReason } from "../../internal/files/system-reason.ts";
import { MODE_FLAGS, modeOptions } from "./config.ts";

const modes: Command<typeof MODE_FLAGS> = {
  name: "desk",
  flags: MODE_FLAGS,
  help: {
    usage: "--mode admin|user",
    summary: "brief a customer agent that can never see the administrator's side",
    text: `With --mode admin you talk to the supervisor, which reads files under /admin. What you tell it to pass on crosses to the customer's side exactly as you typed it, and nothing else does. With --mode user you are a customer: you talk to the customer agent, which reads files under /docs and knows what has crossed.

Input comes from stdin, never from arguments. At a terminal, desk shows a prompt (exit or quit ends it); otherwise it reads a line at a time.`,
    notes: `Whatever an administrator types and the supervisor routes to the customer is public.

Exit codes: 0 done; 1 bug; 2 usage or faulty file; 3 no such thread; 4 agent, front or boundary unavailable; 6 refused; 7 unverified. With --once the code reports the turn: 0 done, 4 failed, 6 refused, 7 unknown.`,
    examples: [
      "desk init shop && cd shop",
      "desk --mode admin                             # in one terminal",
      "desk --mode user                              # in another one",
      "echo 'read /docs/hours.md' | desk --mode user --once",
      `echo '{"text": "tell customers we are open"}' | desk --mode admin --jsonl`,
      "desk transcript                               # what crossed, and what was withheld",
    ],
  },
  completion: [],
  commands: {
    init: async () => (await import("./init.ts")).init,
    check: async () => (await import("./check.ts")).check,
    transcript: async () => (await import("./transcript.ts")).transcript,
    door: async () => (await import("./door.ts")).door,
    front: async () => (await import("./front.ts")).front,
  },
  async run(given, context) {
    const options = modeOptions(given);
    try {
      // Only the half that runs is loaded.
      return options.mode === "admin"
        ? await (await import("./mode-admin.ts")).runAdmin(options, context)
        : await (await import("./mode-user.ts")).runUser(options, context);
    } catch (err) {
      throw systemFailure(err) ?? err;
    }
  },
};

/** A system error, e.g. for a folder that cannot be written or too many open descriptors, is not a bug. */
function systemFailure(err: unknown): DomainError | undefined {
  const { code, syscall, path = "" } = err as NodeJS.ErrnoException;
  if (!(err instanceof Error) || code === undefined || syscall === undefined) return undefined;
  return new DomainError("unavailable", `cannot ${syscall} ${path}: ${systemReason(err)}`, { cause: err });
}

export const desk: Program = modes;
