import { factsOf } from "./certificate-facts.ts";
import type { Signer } from "./certify.ts";
import { der, integer, pemText, sequence, time } from "./der/der-writer.ts";
import { OID } from "./der/object-ids.ts";
import { authorityKeyId, extension } from "./extensions.ts";
import { signatureAlgorithm, signed } from "./signature.ts";

/** Codes of the reasons for a revocation (RFC 5280 §5.3.1). `unspecified` is not encoded. */
export const REVOCATION_REASONS = {
  unspecified: 0,
  "key-compromise": 1,
  "ca-compromise": 2,
  "affiliation-changed": 3,
  superseded: 4,
  "cessation-of-operation": 5,
  "privilege-withdrawn": 9,
} as const;

export type RevocationReason = keyof typeof REVOCATION_REASONS;

export interface RevokedCertificate {
  /** Hex. */
  readonly serial: string;
  /** Wall clock, ms. */
  readonly at: number;
  readonly reason: RevocationReason;
}

export interface RevocationListContent {
  /** Higher than the number of every earlier list. */
  readonly number: number;
  /** Wall clock, ms. */
  readonly thisUpdate: number;
  readonly nextUpdate: number;
  readonly revoked: readonly RevokedCertificate[];
}

/** A complete revocation list of a CA (RFC 5280 §5). PEM. */
export function signRevocationList(content: RevocationListContent, { certificate, key }: Signer): string {
  const { number, thisUpdate, nextUpdate, revoked } = content;
  const { subject, subjectKeyId } = factsOf(certificate);
  const extensions = [extension(OID.crlNumber, integer(number), false)];
  if (subjectKeyId !== undefined) extensions.push(authorityKeyId(subjectKeyId));
  const body = sequence(
    integer(1), // version 2
    signatureAlgorithm(key),
    subject,
    time(thisUpdate),
    time(nextUpdate),
    ...(revoked.length > 0 ? [sequence(...revoked.map((one) => entry(one, thisUpdate)))] : []), // an empty sequence is not allowed
    der(0xa0, sequence(...extensions)),
  );
  return pemText("X509 CRL", signed(body, key));
}

/**
 * One entry of a list. Its date is at most `thisUpdate`, which is a little in the past: a list has no later
 * revocations.
 */
function entry({ serial, at, reason }: RevokedCertificate, thisUpdate: number): Buffer {
  const code = REVOCATION_REASONS[reason];
  const reasons = code === 0 ? [] : [sequence(extension(OID.reasonCode, der(0x0a, Buffer.from([code])), false))];
  return sequence(
    integer(Buffer.from(serial.padStart(serial.length + (serial.length % 2), "0"), "hex")),
    time(Math.min(at, thisUpdate)),
    ...reasons,
  );
}
