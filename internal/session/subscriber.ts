import { DomainError } from "../base/errors.ts";
import type { CursorsOptions } from "../eventlog/cursors.ts";

const MAX_BYTES = 128;

/** How many subscribers' positions a session keeps, and for how long after their last sign of life. */
export const SUBSCRIBER_LIMITS: CursorsOptions = { max: 4096, maxOfOne: 3072, idleMs: 24 * 3_600_000 };

/** Printable, without blanks: it is in the journal and in a person's command line. @throws DomainError `invalid` */
export function checkSubscriber(subscriber: string): void {
  if (/^[^\s\p{C}]+$/u.test(subscriber) && Buffer.byteLength(subscriber) <= MAX_BYTES) return;
  throw new DomainError("invalid", `a subscriber_id is 1 to ${MAX_BYTES} bytes without blanks and control characters`);
}

/** Checks the fields that an acknowledgement must have. @throws DomainError `invalid` */
export function checkAcknowledgement(subscriber: string, epoch: string): void {
  if (subscriber === "") throw new DomainError("invalid", "an acknowledgement needs a subscriber_id");
  checkSubscriber(subscriber);
  if (epoch === "") throw new DomainError("invalid", "an acknowledgement needs the epoch of its ack_seq");
}
