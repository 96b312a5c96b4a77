import { PrintableText, printable } from "../../../../internal/base/printable-text.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import type { NudgeReceipt } from "../../../../internal/session/types.ts";
import type { FoundAgent } from "../../../../internal/terminal/places/with-agent.ts";
import { type ReceiptPlace, receiptJson, receiptText } from "./receipt-text.ts";

/** Prints a receipt for a person, or as JSON; returns the exit code for its outcome. */
export function printReceipt(
  receipt: NudgeReceipt,
  asJson: boolean,
  found: FoundAgent,
  { out, error }: CommandContext,
): number {
  const { exitCode, tone, headline, details, hint } = receiptText(receipt, receiptPlace(found));
  if (asJson) {
    out.line(PrintableText.json(receiptJson(receipt, found.agent, found.backend.where)));
  } else if (tone === "error") {
    error(headline, hint);
  } else {
    out.line(printable`${out.paint(exitCode === 0 ? "green" : "yellow", exitCode === 0 ? "✓" : "…")} ${headline}`);
    for (const line of details) out.line(out.paint("dim", `  ${line}`));
    if (hint !== "") out.line(out.paint("dim", `  ${hint}`));
  }
  return exitCode;
}

/** The parts of a found agent that a receipt's hints need. */
export function receiptPlace({ agent, line, place }: FoundAgent): ReceiptPlace {
  return { agent, line, hasQueue: place.type !== "tmux" };
}
