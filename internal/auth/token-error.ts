import { DomainError } from "../base/errors.ts";

/** What is wrong with a token; `token` in the fields of the error. */
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
  | "certificate" // shown over a certificate that is not its issuer's, or not the one it is bound to
  | "signature"
  | "project";

/** Why a token does not count. Its message never quotes the token. */
export function tokenError(fault: TokenFault, message: string): DomainError {
  return new DomainError("unauthenticated", message, { fields: { token: fault } });
}
