import type { Screen } from "../../agents/screen.ts";
import { wasTyped } from "../../session/kept-ids.ts";
import type { RestoredNudge } from "../../session/nudge-record.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import { TailProbe } from "./probe.ts";

/** A screen that printed anything within this time is not judged. */
const QUIET_MS = 1500;
const NOTHING: Screen = {
  cols: 1,
  rows: 1,
  lines: [],
  cursorX: 0,
  cursorY: 0,
  alternate: false,
  bracketedPaste: false,
  title: "",
};

/**
 * Remembers a text of ours that may be in the prompt of an unknown program: the next text would be joined to it, and
 * both sent as one. It counts as gone once it has been seen and has then left its place on a quiet screen, when someone
 * has pressed keys, or when the program has ended.
 */
export class UnconfirmedText {
  #probe: TailProbe | undefined;
  #wasSeen = false;

  /** Call it when this text was typed and not seen to leave. */
  left(text: string): void {
    this.#probe = new TailProbe(text, NOTHING);
    this.#wasSeen = false;
  }

  gone(): void {
    this.#probe = undefined;
  }

  /** True if the text may still be there. */
  stands(screen: Screen, quietMs: number): boolean {
    if (this.#probe === undefined || quietMs < QUIET_MS) return this.#probe !== undefined;
    const isThere = this.#probe.look(screen) === "there";
    if (this.#wasSeen && !isThere) this.gone();
    this.#wasSeen ||= isThere;
    return this.#probe !== undefined;
  }
}

/** A text that an earlier process typed and that may not have left; `at`: wall clock, ms. */
export interface LeftText {
  readonly text: string;
  readonly at: number;
}

/**
 * The texts that an earlier process left behind in the agent's present life, which began at `since` (wall clock, ms),
 * oldest first. Texts typed before a message that was submitted are not among them: such a message was alone in the
 * prompt.
 */
export function textsLeftBy(nudges: readonly RestoredNudge[], since: number): readonly LeftText[] {
  const ends = nudges.flatMap(({ nudge, ended }) =>
    ended === undefined ? [] : [{ text: nudge.text, acceptedAt: nudge.acceptedAt, ...ended }],
  );
  const typed = ends.filter(({ receipt, at }) => at >= since && wasTyped(receipt.outcome));
  const inOrder = typed.toSorted((a, b) => a.at - b.at);
  const last = inOrder.findLastIndex(({ receipt }) => !mayStand(receipt));
  return inOrder.slice(last + 1).map(({ text, acceptedAt, receipt }) => ({
    text,
    at: acceptedAt + (receipt.timings.pastedMs ?? 0),
  }));
}

/** True if the text may still be in the prompt: the outcome `unknown` does not record whether it was seen to leave. */
export function mayStand({ outcome }: NudgeReceipt): boolean {
  return outcome === "stranded" || outcome === "unknown";
}
