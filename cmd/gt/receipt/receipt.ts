import type { Command } from "../../../internal/cli/command/command.ts";
import { PLACE_SECTION } from "../../../internal/terminal/places/place-flags.ts";
import { RECEIPT_FLAGS, type ReceiptFlags } from "./receipt-flags.ts";

/** `gt receipt`: prints the outcome of a nudge. */
export const receipt: Command<ReceiptFlags> = {
  name: "receipt",
  flags: RECEIPT_FLAGS,
  help: {
    usage: "<agent> <id>",
    summary: "what became of a nudge",
    text: `Prints the receipt of a nudge as it is now. The id is the one given with gt nudge --request-id, or the one in the
receipt. Nothing is typed.`,
    sections: [PLACE_SECTION],
    notes: `Exit codes: those of gt nudge: 0 submitted, 5 queued, 6 refused, 7 typed without proof; 3 when nothing is known of
such a nudge.`,
    examples: ["gt receipt gastown/toast deploy-42", "gt receipt mayor deploy-42 --json | jq -r .outcome"],
  },
  completion: "agent",
  run: async (given, context) => (await import("./run-receipt.ts")).runReceipt(given, context),
};
