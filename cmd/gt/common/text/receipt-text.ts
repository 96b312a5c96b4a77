import { foldedLine, plainText } from "../../../../internal/base/sanitise.ts";
import { durationText, ordinal } from "../../../../internal/cli/wording.ts";
import type { NudgeOutcome, NudgeReceipt } from "../../../../internal/session/types.ts";

/** A nudge's receipt as text for a person. All of it is safe to print. */
export interface ReceiptText {
  readonly exitCode: 0 | 5 | 6 | 7;
  /** `done` goes to stdout, `error` to stderr as an error. */
  readonly tone: "done" | "error";
  readonly headline: string;
  /** Further lines, such as evidence, or the text that was typed instead. */
  readonly details: readonly string[];
  /** The next step for the person; empty if there is none. */
  readonly hint: string;
}

const EXIT_CODES: Readonly<Record<NudgeOutcome, 0 | 5 | 6 | 7>> = {
  submitted: 0,
  queued: 5,
  "blocked-by-dialog": 6,
  "composer-busy": 6,
  "agent-dead": 6,
  expired: 6,
  unsafe: 6,
  cancelled: 6,
  stranded: 7,
  unknown: 7,
};

/** A tmux option that can prevent delivery; the receipt's error then names it. */
const SYNCHRONIZE = "synchronize-panes";
const MAX_EVIDENCE = 6;
const MAX_SHOWN_TEXT = 200;

/** The parts of the hints. */
export interface ReceiptPlace {
  /** The agent's address. */
  readonly agent: string;
  /** A command line of `gt` for the same agent. */
  readonly line: (command: string, ...words: readonly string[]) => string;
  /** Nudges can be queued there. */
  readonly hasQueue: boolean;
}

export function receiptText(receipt: NudgeReceipt, place: ReceiptPlace): ReceiptText {
  const { agent } = place;
  const exitCode = EXIT_CODES[receipt.outcome];
  const said = { headline: headline(receipt, agent), details: details(receipt), hint: hint(receipt, place) };
  return { exitCode, tone: exitCode === 0 || exitCode === 5 ? "done" : "error", ...said };
}

/** The receipt as a JSON object. */
export function receiptJson(receipt: NudgeReceipt, agent: string, where: string): Record<string, unknown> {
  return {
    agent,
    where,
    outcome: receipt.outcome.replaceAll("-", "_"),
    delivered: receipt.outcome === "submitted",
    request_id: receipt.requestId,
    error: receipt.error,
    sender: receipt.sender,
    queue_position: receipt.queuePosition,
    evidence: receipt.evidence.map(({ source, value, ageMs, confidence }) => ({
      source,
      value,
      age_ms: ageMs,
      confidence,
    })),
    timings: {
      queued_ms: receipt.timings.queuedMs,
      typed_ms: receipt.timings.typedMs,
      submitted_ms: receipt.timings.submittedMs,
      confirmed_ms: receipt.timings.confirmedMs,
    },
    delivered_text: receipt.deliveredText,
  };
}

function headline(receipt: NudgeReceipt, agent: string): string {
  const why = receipt.error === "" ? "" : `: ${foldedLine(receipt.error)}`;
  const { timings } = receipt;
  const took = timings.confirmedMs ?? timings.submittedMs ?? timings.typedMs;
  switch (receipt.outcome) {
    case "submitted":
      return `submitted to ${foldedLine(agent)}${took === undefined ? "" : ` in ${durationText(took)}`}`;
    case "queued": {
      const place = receipt.queuePosition > 0 ? `, ${ordinal(receipt.queuePosition)} in line` : "";
      return `queued for ${foldedLine(agent)}${place}${why}`;
    }
    case "stranded":
      return `typed into ${foldedLine(agent)} but not submitted${why}`;
    case "unknown":
      return `typed into ${foldedLine(agent)}, but nothing proves that it was submitted${why}`;
    case "blocked-by-dialog":
      return `not delivered to ${foldedLine(agent)}${why || ": a dialog is open"}`;
    case "composer-busy":
      return `not delivered to ${foldedLine(agent)}${why || ": the composer holds someone's text"}`;
    case "agent-dead":
      return `not delivered to ${foldedLine(agent)}${why || ": the agent is not running"}`;
    case "expired":
      return `not delivered to ${foldedLine(agent)}${why || ": its time to live ended in the queue"}`;
    case "unsafe":
      return `not delivered to ${foldedLine(agent)}${why || ": it cannot be made safe for this agent"}`;
    case "cancelled":
      return `not delivered to ${foldedLine(agent)}${why || ": it was cancelled"}`;
  }
}

function details(receipt: NudgeReceipt): readonly string[] {
  const lines = receipt.evidence.slice(0, MAX_EVIDENCE).map((one) => {
    const age = one.ageMs > 0 ? `, ${durationText(one.ageMs)} old` : "";
    return `${one.confidence}: ${foldedLine(one.value)} (${one.source}${age})`;
  });
  if (receipt.deliveredText === undefined) return lines;
  return [...lines, `typed as: ${JSON.stringify(shorten(plainText(receipt.deliveredText)))}`];
}

function hint(receipt: NudgeReceipt, { line, hasQueue }: ReceiptPlace): string {
  const look = `${line("peek")} shows the screen`;
  const orQueue = hasQueue ? "; or send it with --mode queue, to be typed afterwards" : "";
  switch (receipt.outcome) {
    case "submitted":
    case "cancelled":
      return "";
    case "queued":
      return `it will be typed at the next idle moment; ${line("receipt", receipt.requestId)} shows the outcome`;
    case "blocked-by-dialog":
      return `${line("respond")} shows the dialog and answers it${orQueue}; ${look}`;
    case "composer-busy":
      return `send or clear that text first${orQueue}; ${look}`;
    case "agent-dead":
      return `${line("status")} shows how it ended`;
    case "expired":
      return "send it again";
    case "unsafe":
      return receipt.error.includes(SYNCHRONIZE)
        ? `tmux set-option -w ${SYNCHRONIZE} off, in that window`
        : "change the message";
    case "stranded":
      return `it is still in the agent's composer: ${look}; do not send it again until the composer is cleared`;
    case "unknown":
      return `${look}; gt does not resend it automatically`;
  }
}

function shorten(text: string): string {
  return text.length <= MAX_SHOWN_TEXT ? text : `${text.slice(0, MAX_SHOWN_TEXT)}…`;
}
