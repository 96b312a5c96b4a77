import type { Command } from "../../../internal/cli/command/command.ts";
import { PLACE_SECTION } from "../../../internal/terminal/places/place-flags.ts";
import { RESPOND_FLAGS, type RespondFlags } from "./respond-flags.ts";

/** `gt respond`: shows or answers an agent's open dialog. */
export const respond: Command<RespondFlags> = {
  name: "respond",
  flags: RESPOND_FLAGS,
  help: {
    usage: "<agent> [choice]",
    summary: "answer its dialog, or show the choices",
    text: `Answers the dialog that an agent has open. The dialog is looked at again right before the key. Without a choice it shows
the dialog and its choices.

A choice is its key, or a beginning of its label that no other has; upper and lower case are alike. A whole label wins
before a beginning.`,
    sections: [PLACE_SECTION],
    notes:
      "Exit codes: 0 answered or shown, 6 refused (no dialog is open, or another one by now), 7 pressed without proof.",
    examples: [
      "gt respond gastown/toast",
      "gt respond gastown/toast yes",
      "gt respond gastown/toast 2 --dialog-id 5f0c1a9b22d43e10",
      'gt respond gastown/crew/max --text "use the staging database"',
    ],
  },
  completion: "agent",
  run: async (given, context) => (await import("./run-respond.ts")).runRespond(given, context),
};
