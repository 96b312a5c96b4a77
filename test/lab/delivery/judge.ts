import type { NudgeOutcome } from "../../../internal/session/types.ts";

/** The answer to a caller: a receipt's outcome, or `invalid` for a call that was rejected. */
export type Reported = NudgeOutcome | "invalid";

/** One send as seen from both sides. */
export interface Observed {
  readonly told: Reported;
  readonly message: string;
  /** The typed text according to the receipt; absent: the message itself. */
  readonly deliveredText?: string | undefined;
  /** The texts that the agent took between the send and its end, oldest first, including a person's own. */
  readonly received: readonly string[];
  /** The texts that a person wrote and submitted meanwhile. */
  readonly person: readonly string[];
  /** The texts that the agent took before the person submitted any. */
  readonly early: readonly string[];
  /** Commands and tools that ran without permission. */
  readonly effects: readonly string[];
  /** True if a dialog was open, and is now closed or replaced. */
  readonly dialogGone: boolean;
  /** The screen, if text that only the sender can have written was in the composer at the end; else empty. */
  readonly leftover: string;
  /**
   * True if a person was typing at the same time: words that the person appends to a text under way count as the
   * person's.
   */
  readonly typing: boolean;
  /** True if the program hangs or ends on this message: texts that a person typed after it are lost. */
  readonly isLast: boolean;
}

export type Arrived = "nothing" | "once" | "changed" | "twice";
export type FaultKind = "lost" | "doubled" | "wrong" | "dialog" | "draft";

export interface Verdict {
  readonly arrived: Arrived;
  readonly faults: readonly { readonly kind: FaultKind; readonly why: string }[];
}

/** For these outcomes not one byte may have been typed. */
const REFUSED: ReadonlySet<Reported> = new Set([
  "blocked-by-dialog",
  "composer-busy",
  "agent-dead",
  "expired",
  "unsafe",
  "cancelled",
  "queued",
  "invalid",
]);

/** Whether a receipt was true, compared with the receiver's record. Pure. */
export function judge(seen: Observed): Verdict {
  const { told, message, deliveredText, person } = seen;
  const rest = [...seen.received];
  const missing: string[] = [];
  for (const text of person) {
    const at = rest.findIndex((got) => plain(got) === plain(text));
    if (at >= 0) rest.splice(at, 1);
    else missing.push(text);
  }
  const wanted = new Set([message, deliveredText ?? message].flatMap(forms));
  const whole = rest.filter((got) => forms(got).some((form) => wanted.has(form)));
  const changed = rest.filter((got) => !whole.includes(got));
  const arrived = whole.length > 1 ? "twice" : changed.length > 0 ? "changed" : whole.length === 1 ? "once" : "nothing";
  const faults: { kind: FaultKind; why: string }[] = [];
  const fault = (kind: FaultKind, why: string): void => void faults.push({ kind, why });
  if (whole.length > 1) fault("doubled", `arrived ${whole.length} times`);
  if (told === "submitted" && arrived === "nothing") fault("lost", "reported SUBMITTED, nothing arrived");
  if (told === "submitted" && arrived === "changed") fault("wrong", `arrived changed: ${shown(changed)}`);
  if (told === "stranded" && arrived !== "nothing" && !seen.typing) fault("wrong", "reported STRANDED, and it arrived");
  if (REFUSED.has(told) && arrived !== "nothing") fault("wrong", `reported ${told}, and it arrived: ${shown(rest)}`);
  if (REFUSED.has(told) && seen.leftover !== "")
    fault("wrong", `reported ${told}, and text was left in the composer: ${shown([seen.leftover])}`);
  const isRace = seen.typing && (told === "stranded" || told === "unknown");
  for (const text of missing) {
    const joined = changed.some((got) => got.includes(text.slice(0, 6)));
    if (!isRace && (joined || !seen.isLast)) fault("draft", joined ? `joined: ${shown(changed)}` : "lost");
  }
  if (seen.early.some((got) => person.some((text) => got.includes(text)))) fault("draft", "submitted for the person");
  for (const effect of seen.effects) fault("dialog", `ran: ${effect.slice(0, 60)}`);
  if (seen.dialogGone) fault("dialog", "answered or closed");
  return { arrived, faults };
}

/** Whether a received text is this message, by the contract's equality. */
export function isSame(received: string, message: string): boolean {
  const wanted = forms(message);
  return forms(received).some((form) => wanted.includes(form));
}

/** Claude Code hands a longer paste to the model between marks of its own; only the text between them counts. */
const PASTED = /^\s*<pasted_content id="\w+">\n([\s\S]*)\n<\/pasted_content id="\w+">\s*$/;
const PREFIX = "[nudge] ";

/**
 * The forms of a text under the contract's equality, implemented independently of the product: with and without the
 * inert prefix.
 */
function forms(text: string): readonly string[] {
  const whole = plain(text);
  return whole.startsWith(PREFIX) ? [whole, whole.slice(PREFIX.length)] : [whole];
}

function plain(text: string): string {
  return (PASTED.exec(text)?.[1] ?? text)
    .replace(/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g, "")
    .replace(/\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g, "")
    .replace(/\r\n?/g, "\n")
    .replaceAll("\t", "    ")
    .replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, "")
    .normalize("NFC")
    .replace(/< (?=\/?system-reminder)/gi, "<")
    .trimEnd();
}

function shown(texts: readonly string[]): string {
  return JSON.stringify(texts.map((text) => (text.length > 90 ? `${text.slice(0, 60)}…${text.slice(-25)}` : text)));
}
