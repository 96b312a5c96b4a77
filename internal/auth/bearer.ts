import { tokenError } from "./token-error.ts";

const PREFIX = "Bearer ";

/**
 * The token of a call's `authorization` headers.
 * @throws DomainError `unauthenticated` unless there is exactly one, and that is `Bearer TOKEN`
 */
export function bearerOf(headers: readonly string[]): string {
  const [header, another] = headers;
  if (header === undefined) throw tokenError("missing", "the call has no token (authorization: Bearer)");
  if (another !== undefined) throw tokenError("header", "the call has more than one authorization header");
  if (!header.startsWith(PREFIX)) throw tokenError("header", "the authorization header is not Bearer and a token");
  return header.slice(PREFIX.length);
}
