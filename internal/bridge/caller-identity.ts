import { createHash } from "node:crypto";
import type { TokenClaims } from "../auth/token-claims.ts";

/** What `gastown-sender` takes. */
const MAX_CHARS = 256;
/** Of a name that is longer than that so much is kept, and a hash of all of it. */
const KEPT_CHARS = 190;

/**
 * Who makes a call, as receipts, positions and the audit log name it: `<iss>/<sub>` of the token. Characters that would
 * let two callers have the same name, or that a header does not take, are percent-encoded: `/` in `iss`, blanks and all but
 * ASCII in both. A name of more than 256 characters ends in `~` and its SHA-256 instead.
 */
export function callerIdentity({ issuer, subject }: Pick<TokenClaims, "issuer" | "subject">): string {
  const name = `${encoded(issuer).replaceAll("/", "%2F")}/${encoded(subject)}`;
  if (name.length <= MAX_CHARS) return name;
  return `${name.slice(0, KEPT_CHARS)}~${createHash("sha256").update(name).digest("hex")}`;
}

function encoded(text: string): string {
  return text.toWellFormed().replace(/[^\x21-\x24\x26-\x7e]/gu, encodeURIComponent);
}
