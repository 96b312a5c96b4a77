import { DomainError } from "../../base/errors.ts";

/** Every reason that this side gives for a failure. */
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

/** The public reason of a failure; `internal error` if its own reason is not in the set. */
export function publicReason(err: unknown): PublicReason {
  const reason = err instanceof DomainError ? err.fields["reason"] : undefined;
  return PUBLIC_REASONS.find((known) => known === reason) ?? "internal error";
}
