import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import { readPlace } from "../../../internal/terminal/places/place-config.ts";
import { withAgent } from "../../../internal/terminal/places/with-agent.ts";
import { takeAgent } from "../common/command/agent-arguments.ts";
import { readRequestId } from "../common/command/arguments.ts";
import { printReceipt } from "../common/text/print-receipt.ts";
import type { ReceiptFlags } from "./receipt-flags.ts";

export async function runReceipt(
  { values, positionals, rest }: Given<ReceiptFlags>,
  context: CommandContext,
): Promise<number> {
  const place = readPlace(values, context.env);
  const [agent, id] = takeAgent("receipt", [...positionals, ...(rest ?? [])], place, { must: ["id"] });
  const requestId = readRequestId("receipt", id, "the id");
  return await withAgent(place, agent, context, async (found) => {
    const known = await found.backend.getNudge(requestId, context.signal);
    return printReceipt(known, values.json ?? false, found, context);
  });
}
