import { DomainError } from "../../../internal/base/errors.ts";
import { PrintableText, printable } from "../../../internal/base/printable-text.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import type { NudgeOutcome } from "../../../internal/session/types.ts";
import { readPlace } from "../../../internal/terminal/places/place-config.ts";
import { withAgent } from "../../../internal/terminal/places/with-agent.ts";
import { takeAgent } from "../common/command/agent-arguments.ts";
import { readRequestId } from "../common/command/arguments.ts";
import { receiptPlace } from "../common/text/print-receipt.ts";
import { receiptJson, receiptText } from "../common/text/receipt-text.ts";
import type { CancelFlags } from "./cancel-flags.ts";

const NOT_CANCELLED = 6;

export async function runCancel(
  { values, positionals, rest }: Given<CancelFlags>,
  context: CommandContext,
): Promise<number> {
  const place = readPlace(values, context.env);
  const [agent, id] = takeAgent("cancel", [...positionals, ...(rest ?? [])], place, { must: ["id"] });
  const requestId = readRequestId("cancel", id, "the id");
  return await withAgent(place, agent, context, async (found) => {
    const { out, error, signal } = context;
    try {
      const receipt = await found.backend.cancelNudge(requestId, signal);
      const code = exitCode(receipt.outcome);
      const { headline, hint } = receiptText(receipt, receiptPlace(found));
      if (values.json) out.line(PrintableText.json(receiptJson(receipt, found.agent, found.backend.where)));
      else if (code === 0) out.line(printable`${out.paint("green", "✓")} cancelled ${requestId}: nothing was typed`);
      else error(`${requestId} was not cancelled: ${headline}`, hint);
      return code;
    } catch (err) {
      if (!(err instanceof DomainError) || err.kind !== "precondition") throw err;
      error(err.message, String(err.fields["hint"] ?? ""));
      return NOT_CANCELLED;
    }
  });
}

function exitCode(outcome: NudgeOutcome): number {
  switch (outcome) {
    case "cancelled":
      return 0;
    case "queued":
      return 5;
    case "stranded":
    case "unknown":
      return 7;
    case "submitted":
    case "blocked-by-dialog":
    case "composer-busy":
    case "agent-dead":
    case "expired":
    case "unsafe":
      return NOT_CANCELLED;
  }
}
