import type { DeliveryResult } from "./delivery-attempt.ts";
import type { Situation } from "./delivery-policy.ts";
import type { TrackedNudge } from "./tracked-nudge.ts";
import type { UnconfirmedText } from "./unconfirmed-text.ts";

/** What brings the texts of a mailbox to one agent. The mailbox calls it for one nudge at a time. */
export interface Courier {
  /** What stands in the way of a text, by a fresh look at the screen. */
  situation(signal: AbortSignal): Promise<Situation>;
  /** One attempt; `onIntent` is called right before the first byte is typed. */
  deliver(tracked: TrackedNudge, onIntent: () => void, signal: AbortSignal): Promise<DeliveryResult>;
  /** Judges an attempt whose end nobody saw: typed, or `retry` when it is certain that nothing was. */
  recover(tracked: TrackedNudge, signal: AbortSignal): Promise<DeliveryResult>;
  /** For programs whose prompt cannot be read. */
  readonly leftover?: UnconfirmedText | undefined;
}
