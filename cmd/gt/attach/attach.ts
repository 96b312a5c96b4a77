import type { Command } from "../../../internal/cli/command/command.ts";
import { PLACE_SECTION } from "../../../internal/terminal/places/place-flags.ts";
import { ATTACH_FLAGS, type AttachFlags } from "./attach-flags.ts";

/** `gt attach`: connects a person's terminal to the agent's. */
export const attach: Command<AttachFlags> = {
  name: "attach",
  flags: ATTACH_FLAGS,
  help: {
    usage: "<agent>",
    summary: "your terminal on its terminal",
    text: `Puts your terminal on an agent's terminal: you see and type what a person in front of it would. What you had on your
terminal before is there again afterwards.

While you are the only one who can type, the window has the size of your terminal; with others it has its own, and you see
the part around the cursor. Nudges wait while you type. A connection that breaks is made again by itself.

tmux itself attaches you to an agent in local tmux: there its own keys leave (usually Ctrl-b d).`,
    sections: [PLACE_SECTION],
    examples: [
      "gt attach gastown/toast",
      "gt attach mayor --read-only",
      "gt attach demo --host 10.0.3.7 --tls-dir ~/.gt/tls --detach-keys ctrl-p,ctrl-q",
    ],
  },
  completion: "agent",
  run: async (given, context) => (await import("./run-attach.ts")).runAttach(given, context),
};
