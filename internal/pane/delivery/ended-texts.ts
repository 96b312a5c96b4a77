import { wasTyped } from "../../session/kept-ids.ts";
import { withoutText } from "../../session/nudge-record.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import { mayStand } from "./leftover.ts";
import type { Letter } from "./letter.ts";
import { STANDING_KEEP } from "./standing-texts.ts";

/** Of all delivered texts together, characters; the oldest receipts tell theirs no longer then. */
export const DELIVERED_TEXTS_KEEP = 8 * 1024 * 1024;

/**
 * Takes the text out of messages that have ended: thousands of receipts are kept, and each message may have 64 KiB. Its hash
 * stays and knows it again. The last ones that were typed and not submitted keep theirs, which may stand in the agent's prompt.
 */
export class EndedTexts {
  /** Whose receipts tell a delivered text, oldest first. */
  readonly #delivered = new Set<Letter>();
  #chars = 0;
  /** Typed, and not known to have left, oldest first. */
  #standing: readonly Letter[] = [];

  /** Call it once for each, in the order of their ends. */
  ended(letter: Letter): void {
    if (letter.receipt === undefined || !wasTyped(letter.receipt.outcome)) {
      dropText(letter);
      return;
    }
    const kept = mayStand(letter.receipt) ? [...this.#standing, letter].slice(-STANDING_KEEP) : [];
    for (const one of [...this.#standing, letter]) if (!kept.includes(one)) dropText(one);
    this.#standing = kept;
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
