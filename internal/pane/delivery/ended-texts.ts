import { withoutText } from "../../session/nudge-record.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import type { Letter } from "./letter.ts";

/** Of all delivered texts together, characters; the oldest receipts tell theirs no longer then. */
export const DELIVERED_TEXTS_KEEP = 8 * 1024 * 1024;

/**
 * Takes the text out of messages that have ended: thousands of receipts are kept, and each message may have 64 KiB. Its hash
 * stays and knows it again. The last one that was typed keeps its text, which may stand in the agent's prompt still.
 */
export class EndedTexts {
  /** Whose receipts tell a delivered text, oldest first. */
  readonly #delivered = new Set<Letter>();
  #chars = 0;
  #lastTyped: Letter | undefined;

  /** Call it once for each, in the order of their ends. */
  ended(letter: Letter): void {
    if (letter.receipt?.timings.typedMs === undefined) {
      dropText(letter);
      return;
    }
    if (this.#lastTyped !== undefined) dropText(this.#lastTyped);
    this.#lastTyped = letter;
    if (letter.receipt.deliveredText === undefined) return;
    this.#delivered.add(letter);
    this.#chars += letter.receipt.deliveredText.length;
    for (const oldest of this.#delivered) {
      if (this.#chars <= DELIVERED_TEXTS_KEEP) break;
      this.forgotten(oldest);
      if (oldest.receipt !== undefined) oldest.receipt = withoutDelivered(oldest.receipt);
    }
  }

  /** The receipt is kept no longer. */
  forgotten(letter: Letter): void {
    if (this.#delivered.delete(letter)) this.#chars -= letter.receipt?.deliveredText?.length ?? 0;
  }
}

function withoutDelivered({ deliveredText: _, ...receipt }: NudgeReceipt): NudgeReceipt {
  return receipt;
}

function dropText(letter: Letter): void {
  letter.nudge = withoutText(letter.nudge);
}
