import { boundedName } from "../../auth/tls/identities.ts";
import type { TokenClaims } from "../../auth/token-claims.ts";

/**
 * The name of a caller in receipts, positions and the audit log: `<iss>/<sub>` of the token. Characters that would make
 * names ambiguous or are not allowed in a header are percent-encoded: `/` in `iss`; blanks, `%`, control characters and
 * non-ASCII characters in both. A name of more than 256 characters is cut and ends in `~` and its SHA-256.
 */
export function callerIdentity({ issuer, subject }: Pick<TokenClaims, "issuer" | "subject">): string {
  return boundedName(`${encoded(issuer).replaceAll("/", "%2F")}/${encoded(subject)}`);
}

function encoded(text: string): string {
  return text.toWellFormed().replace(/[^\x21-\x24\x26-\x7e]/gu, encodeURIComponent);
}
