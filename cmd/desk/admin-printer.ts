import { PrintableText, printable } from "../../internal/base/printable-text.ts";
import { plainText } from "../../internal/base/sanitise.ts";
import type { Output } from "../../internal/cli/output.ts";
import type { BackEvent } from "../../internal/desk/supervisor/back-event.ts";

type Decision = Extract<BackEvent, { type: "decision" }>;

/** Prints a turn for the administrator. The margin names the author of the words after it. */
export function adminPrinter(out: Output): (event: BackEvent) => void {
  let decision: Decision | undefined;
  const toCustomer = (text: PrintableText) => {
    const way = decision?.route === "customer" ? printable`→ customer (${ruleText(decision.rule)}); ` : printable``;
    out.line(printable`${way}${text}`);
  };
  return (event) => {
    switch (event.type) {
      case "decision":
        decision = event;
        return;
      case "crossed": {
        const what = `${event.bytes} bytes to ${event.thread}`;
        return toCustomer(
          event.outcome === "UNKNOWN" ? printable`unknown whether crossed: ${what}` : printable`crossed: ${what}`,
        );
      }
      case "refused":
        return toCustomer(printable`refused: ${event.reason}`);
      case "read":
        return;
      case "answer":
        return withMargin(out, event.from, event.text);
      case "error":
        return out.line(printable`failed: ${event.reason}`);
      case "turn_end":
        decision = undefined;
    }
  };
}

/** Prefixes each line with its author. */
export function withMargin(out: Output, author: string, text: string): void {
  for (const line of plainText(text).split("\n")) out.line(printable`${author} │ ${PrintableText.plain(line)}`);
}

/** `rule 1`, or another reason for the decision. */
export function ruleText(rule: number | string): string {
  return typeof rule === "number" ? `rule ${rule}` : rule;
}
