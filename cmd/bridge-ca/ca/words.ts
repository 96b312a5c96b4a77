import type { X509Certificate } from "node:crypto";
import { quotedText } from "../../../internal/base/quoted-text.ts";
import { factsOf } from "../../../internal/pki/certificate-facts.ts";

const DAY_MS = 86_400_000;

/** `2027-02-20`, in UTC. */
export function dayText(date: Date): string {
  return date.toISOString().slice(0, 10);
}

/** `until 2027-02-20 (in 90 days)`, `ended on 2027-02-20`. */
export function endText(certificate: X509Certificate, now: number): string {
  const end = certificate.validToDate;
  const left = Math.round((end.getTime() - now) / DAY_MS);
  if (end.getTime() <= now) return `ended on ${dayText(end)}`;
  if (left < 2) return `until ${end.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  return `until ${dayText(end)} (in ${left} days)`;
}

/** The certificate's common name in quotes, for use in a sentence. */
export function quotedName(certificate: X509Certificate): string {
  return quotedText(factsOf(certificate).commonName ?? "(no common name)");
}
