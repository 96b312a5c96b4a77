import type { DeliveryResult } from "./delivery-attempt.ts";
import type { Situation } from "./delivery-policy.ts";
import type { TrackedNudge } from "./tracked-nudge.ts";
import type { UnconfirmedText } from "./unconfirmed-text.ts";

/** Delivers the texts of a mailbox to one agent. The mailbox calls it for one nudge at a time. */
export interface Courier {
  /** The facts on which the decision about a message depends, from a fresh look at the screen. */
  situation(signal: AbortSignal): Promise<Situation>;
  /** Makes one attempt; `onIntent` is called right before the first byte is typed. */
  deliver(tracked: TrackedNudge, onIntent: () => void, signal: AbortSignal): Promise<DeliveryResult>;
  /** Judges an attempt whose end was not observed: typed, or `retry` if it is certain that nothing was typed. */
  recover(tracked: TrackedNudge, signal: AbortSignal): Promise<DeliveryResult>;
  /** Our text that may still be in the prompt; only for programs whose prompt cannot be read. */
  readonly leftover?: UnconfirmedText | undefined;
}
