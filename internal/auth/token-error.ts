import { DomainError } from "../base/errors.ts";

/** The fault of a token; the field `token` of the error. */
export type TokenFault =
  | "missing"
  | "header" // not one `authorization: Bearer`
  | "malformed"
  | "algorithm"
  | "claims"
  | "issuer"
  | "audience"
  | "expired"
  | "early"
  | "too-long"
  | "certificate" // sent with a certificate that is not its issuer's, or not the one it is bound to
  | "signature"
  | "project";

/** The error for a token that is refused. The message never quotes the token. */
export function tokenError(fault: TokenFault, message: string): DomainError {
  return new DomainError("unauthenticated", message, { fields: { token: fault } });
}
