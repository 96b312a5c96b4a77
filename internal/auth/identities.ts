import type { X509Certificate } from "node:crypto";
import { urisOf } from "../base/uri-names.ts";

const SESSION = /^spiffe:\/\/[^/]+\/ns\/[^/]+\/session\/([^/]+)$/;
const SIDECAR = /^spiffe:\/\/[^/]+\/ns\/[^/]+\/session(?:\/|$)/;

/** The names by which a certificate says who its owner is: its URI names. */
export function identitiesOf(certificate: X509Certificate): readonly string[] {
  return urisOf(certificate.subjectAltName ?? "");
}

/** The sessions whose sidecar a certificate names. */
export function sessionsOf(certificate: X509Certificate): readonly string[] {
  return identitiesOf(certificate).flatMap((uri) => SESSION.exec(uri)?.[1] ?? []);
}

/** The identity is a sidecar's, or looks like one: those are called and never call. */
export function isSidecar(uri: string): boolean {
  return SIDECAR.test(uri);
}
