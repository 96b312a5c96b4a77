import type { Command } from "../../../internal/cli/command/command.ts";
import { PLACE_SECTION } from "../../../internal/terminal/places/place-flags.ts";
import { CANCEL_FLAGS, type CancelFlags } from "./cancel-flags.ts";

/** `gt cancel`: takes a nudge out of the queue. */
export const cancel: Command<CancelFlags> = {
  name: "cancel",
  flags: CANCEL_FLAGS,
  help: {
    usage: "<agent> <id>",
    summary: "take a nudge out of the queue",
    text: `Cancels a nudge that is queued and not typed yet. What was typed stays typed: then the receipt says what became of
it. The id is the one given with gt nudge --request-id, or the one in the receipt.`,
    sections: [PLACE_SECTION],
    notes: `Exit codes: 0 cancelled, 5 still queued, 6 too late (submitted, or ended in another way), 7 too late and typed
without proof; 3 when nothing is known of such a nudge.`,
    examples: ["gt cancel gastown/toast deploy-42"],
  },
  completion: "agent",
  run: async (given, context) => (await import("./run-cancel.ts")).runCancel(given, context),
};
