import { boundedName } from "../../auth/tls/identities.ts";
import type { TokenClaims } from "../../auth/token-claims.ts";

/**
 * Who makes a call, as receipts, positions and the audit log name it: `<iss>/<sub>` of the token. Characters that would
 * let two callers have the same name, or that a header does not take, are percent-encoded: `/` in `iss`, blanks and all
 * but ASCII in both. A name of more than 256 characters ends in `~` and its SHA-256 instead.
 */
export function callerIdentity({ issuer, subject }: Pick<TokenClaims, "issuer" | "subject">): string {
  return boundedName(`${encoded(issuer).replaceAll("/", "%2F")}/${encoded(subject)}`);
}

function encoded(text: string): string {
  return text.toWellFormed().replace(/[^\x21-\x24\x26-\x7e]/gu, encodeURIComponent);
}
