import { DomainError, errorText } from "../../base/errors.ts";

/** Close code and reason for the error that ended the call of a connection. */
export function farewell(why: unknown): [code: number, reason: string] {
  const kind = why instanceof DomainError ? why.kind : undefined;
  if (kind === "unauthenticated") return [4401, errorText(why).slice(0, 100)];
  return kind === "denied" ? [4403, errorText(why).slice(0, 100)] : [1001, "the relay is shutting down"];
}
