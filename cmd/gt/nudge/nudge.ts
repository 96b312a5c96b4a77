import type { Command } from "../../../internal/cli/command/command.ts";
import { PLACE_SECTION } from "../../../internal/terminal/places/place-flags.ts";
import { NUDGE_FLAGS, type NudgeFlags } from "./nudge-flags.ts";

/** `gt nudge`: delivers a message and prints its receipt. */
export const nudge: Command<NudgeFlags> = {
  name: "nudge",
  flags: NUDGE_FLAGS,
  help: {
    usage: "<agent> [message]",
    summary: "deliver a message, and prove it",
    text: `Delivers a message to an agent and prints its receipt. It never types into a dialog or onto a person's text, and
never types a message twice.

The sender is GT_ROLE, else your user name and machine.`,
    sections: [PLACE_SECTION],
    notes:
      "Exit codes: 0 submitted (or nothing to send with --if-fresh), 5 queued, 6 refused (dialog, draft, dead, unsafe, expired, cancelled), 7 typed without proof.",
    examples: [
      'gt nudge gastown/toast "run the tests again, please"',
      "git diff | gt nudge gastown/crew/max --stdin",
      'gt nudge mayor -m "deploy is green" --mode queue --priority urgent',
      "gt nudge demo hello --json | jq -r .outcome",
    ],
  },
  completion: "agent",
  run: async (given, context) => (await import("./run-nudge.ts")).runNudge(given, context),
};
