import { DomainError } from "../../base/errors.ts";

/** All that this side says of a failure. */
const PUBLIC_REASONS = [
  "not allowed",
  "not found",
  "too large",
  "not text",
  "busy",
  "agent unavailable",
  "interrupted",
  "refused",
  "internal error",
] as const;

export type PublicReason = (typeof PUBLIC_REASONS)[number];

/** The word for a failure; one that is not of the set is `internal error`. */
export function publicReason(err: unknown): PublicReason {
  const reason = err instanceof DomainError ? err.fields["reason"] : undefined;
  return PUBLIC_REASONS.find((known) => known === reason) ?? "internal error";
}
