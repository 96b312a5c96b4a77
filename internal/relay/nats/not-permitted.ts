import { PermissionViolationError } from "@nats-io/transport-node";
import { causesOf, DomainError } from "../../base/errors.ts";

/** The error for a permission that NATS denies to the relay's user; undefined: `err` has another cause. */
export function notPermitted(err: unknown): DomainError | undefined {
  const violation = causesOf(err).find((one) => one instanceof PermissionViolationError);
  if (violation === undefined) return undefined;
  const { operation, subject } = violation;
  return new DomainError("denied", `NATS does not permit to ${operation} ${subject}`, {
    fields: { hint: "give the relay's user this permission" },
    cause: err,
  });
}
