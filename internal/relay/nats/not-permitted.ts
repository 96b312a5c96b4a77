import { PermissionViolationError } from "@nats-io/transport-node";
import { DomainError } from "../../base/errors.ts";

/** NATS does not let this user publish or subscribe as the relay has to; undefined: `err` is something else. */
export function notPermitted(err: unknown): DomainError | undefined {
  for (let cause = err; cause instanceof Error; cause = cause.cause) {
    if (!(cause instanceof PermissionViolationError)) continue;
    const { operation, subject } = cause;
    const hint = "give the relay's user this permission";
    return new DomainError("denied", `NATS does not permit to ${operation} ${subject}`, {
      fields: { hint },
      cause: err,
    });
  }
  return undefined;
}
