import { plainText } from "../../internal/base/sanitise.ts";
import type { NudgeReceipt } from "../../internal/session/types.ts";

/** A receipt as one line: time, outcome, duration, sender, and evidence. `now` is the wall clock, ms. */
export function receiptLine(receipt: NudgeReceipt, now: number): string {
  const { timings, evidence, outcome, sender, error } = receipt;
  const took = timings.confirmedMs ?? timings.submittedMs ?? timings.typedMs;
  const parts = [
    `${clockTime(now)}  ${outcome.replaceAll("-", " ").toUpperCase()}`,
    took === undefined ? "" : `in ${Math.round(took)} ms`,
    sender === "" ? "" : `from ${sender}`,
    error === "" ? "" : error,
    evidence[0] === undefined ? "" : `(${evidence[0].source}: ${evidence[0].value})`,
  ];
  return plainText(parts.filter((part) => part !== "").join("  ")).replaceAll("\n", " ");
}

/** The local time of day, `14:03:59`. */
export function clockTime(now: number): string {
  const at = new Date(now);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}
