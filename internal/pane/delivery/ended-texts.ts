import { wasTyped } from "../../session/kept-ids.ts";
import { withoutText } from "../../session/nudge-record.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import type { TrackedNudge } from "./tracked-nudge.ts";
import { mayStand } from "./unconfirmed-text.ts";
import { UNSUBMITTED_KEEP } from "./unsubmitted-texts.ts";

/**
 * The limit of all delivered texts together, in characters; beyond it the oldest receipts lose theirs.
 * @internal
 */
export const DELIVERED_TEXTS_KEEP = 8 * 1024 * 1024;

/**
 * Removes the text of messages that have ended: thousands of receipts are kept, and each message may have 64 KiB. The
 * hash stays and identifies the message. The last texts that were typed and not submitted stay, because they may be in
 * the agent's prompt.
 */
export class EndedTexts {
  /** The nudges whose receipts contain a delivered text, oldest first. */
  readonly #delivered = new Set<TrackedNudge>();
  #chars = 0;
  /** Typed, and not known to have left, oldest first. */
  #standing: readonly TrackedNudge[] = [];

  /** Call it once for each, in the order of their ends. */
  ended(tracked: TrackedNudge): void {
    if (tracked.receipt === undefined || !wasTyped(tracked.receipt.outcome)) {
      dropText(tracked);
      return;
    }
    const kept = mayStand(tracked.receipt) ? [...this.#standing, tracked].slice(-UNSUBMITTED_KEEP) : [];
    for (const one of [...this.#standing, tracked]) if (!kept.includes(one)) dropText(one);
    this.#standing = kept;
    if (tracked.receipt.deliveredText === undefined) return;
    this.#delivered.add(tracked);
    this.#chars += tracked.receipt.deliveredText.length;
    for (const oldest of this.#delivered) {
      if (this.#chars <= DELIVERED_TEXTS_KEEP) break;
      this.forgotten(oldest);
      if (oldest.receipt !== undefined) oldest.receipt = withoutDelivered(oldest.receipt);
    }
  }

  /** Call it when the receipt is forgotten. */
  forgotten(tracked: TrackedNudge): void {
    if (this.#delivered.delete(tracked)) this.#chars -= tracked.receipt?.deliveredText?.length ?? 0;
  }
}

function withoutDelivered({ deliveredText: _, ...receipt }: NudgeReceipt): NudgeReceipt {
  return receipt;
}

function dropText(tracked: TrackedNudge): void {
  tracked.nudge = withoutText(tracked.nudge);
}
