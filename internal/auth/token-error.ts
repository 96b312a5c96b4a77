import { DomainError } from "../base/errors.ts";

/** The fault of a token; the field `token` of the error. */
export type TokenFault =
  | "missing"
  | "header" // not exactly one `authorization: Bearer`
  | "malformed"
  | "algorithm"
  | "claims"
  | "issuer"
  | "audience"
  | "expired"
  | "early"
  | "too-long"
  | "certificate" // sent without a certificate that the issuer's CA signed, or without the one to which it is bound
  | "signature"
  | "project";

/** The error for a token that is refused. The message never quotes the token. */
export function tokenError(fault: TokenFault, message: string): DomainError {
  return new DomainError("unauthenticated", message, { fields: { token: fault } });
}
