import { DomainError } from "../../base/errors.ts";

/** Every word that this side says about a failure. */
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

/** The word for a failure; `internal error` for one outside the set. */
export function publicReason(err: unknown): PublicReason {
  const reason = err instanceof DomainError ? err.fields["reason"] : undefined;
  return PUBLIC_REASONS.find((known) => known === reason) ?? "internal error";
}
