import { tokenError } from "./token-error.ts";

/** Schemes are case-insensitive (RFC 9110 §11.1). */
const BEARER = /^bearer /i;

/**
 * The token in the `authorization` headers of a call.
 * @throws DomainError `unauthenticated` unless there is exactly one header, `Bearer TOKEN`
 */
export function bearerOf(headers: readonly string[]): string {
  const [header, another] = headers;
  if (header === undefined) throw tokenError("missing", "the call has no token (authorization: Bearer)");
  if (another !== undefined) throw tokenError("header", "the call has more than one authorization header");
  if (!BEARER.test(header)) throw tokenError("header", "the authorization header is not Bearer and a token");
  return header.replace(BEARER, "");
}
