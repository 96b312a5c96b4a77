import type { KeyObject, X509Certificate } from "node:crypto";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { DomainError } from "../../../internal/base/errors.ts";
import { quotedText, shownText } from "../../../internal/base/quoted-text.ts";
import { isEncryptedKey } from "../../../internal/pki/ca-key.ts";
import { factsOf } from "../../../internal/pki/certificate-facts.ts";
import { nameText } from "../../../internal/pki/der/general-names.ts";
import { usagesOf } from "../../../internal/pki/judge-chain.ts";
import { certificatesOf } from "../../../internal/pki/pem.ts";
import { revocationListsOf } from "../../../internal/pki/revocation-list.ts";
import { trustDomainOf } from "../../../internal/pki/trust-domain.ts";
import type { CaContext } from "../ca/context.ts";
import { dayText, endText, quotedName } from "../ca/words.ts";
import { readFile } from "../files/read-files.ts";

export interface InspectOptions {
  readonly files: readonly string[];
}

/**
 * Prints the contents of files (certificates, revocation lists, keys) without secrets. Returns 2 if a file holds none
 * of these.
 */
export async function runInspect(
  { out, clock }: Pick<CaContext, "out" | "clock">,
  options: InspectOptions,
): Promise<number> {
  let code = 0;
  for (const file of options.files) {
    const { text, mode } = readFile(file);
    const parts = [...certificateParts(text, clock.now()), ...listParts(text, clock.now()), ...keyParts(text, mode)];
    if (parts.length === 0) {
      out.plain(`${file}  holds no certificate, list or key in PEM\n`);
      code = 2;
    }
    for (const [title, ...rows] of parts) {
      out.plain(`${file}  ${title}\n${rows.map((row) => `  ${row}\n`).join("")}`);
    }
  }
  return code;
}

type Part = readonly string[];

function certificateParts(text: string, now: number): Part[] {
  if (!text.includes("-----BEGIN CERTIFICATE-----")) return [];
  return certificatesOf(text).map((certificate) => certificatePart(certificate, now));
}

function certificatePart(certificate: X509Certificate, now: number): Part {
  const { isCa, pathLength, names, constraints, crlUrls, subject, issuer } = factsOf(certificate);
  const uses = usagesOf(certificate).map((usage) => `${usage}s`);
  const purpose = uses.length === 0 ? "" : ` for ${uses.join(" and ")}`;
  const kind = isCa ? (subject.equals(issuer) ? "root CA" : "CA") : "certificate";
  const domain = isCa ? trustDomainOf(certificate) : undefined;
  const list = (given: Parameters<typeof nameText>[0][]) =>
    given.map((name) => `${name.type}:${nameText(name)}`).join(", ");
  return [
    `${kind} ${quotedName(certificate)}${purpose}`,
    `issuer      ${certificate.issuer.split("\n").map(shownText).join(", ")}`,
    `valid       from ${dayText(certificate.validFromDate)} ${endText(certificate, now)}`,
    ...(names.length > 0 ? [`names       ${list([...names])}`] : []),
    ...(domain === undefined ? [] : [`domain      ${domain}`]),
    ...(isCa ? [`CAs below   ${pathLength ?? "any number"}`] : []),
    ...(constraints && constraints.permitted.length > 0 ? [`permitted   ${list([...constraints.permitted])}`] : []),
    ...(constraints && constraints.excluded.length > 0 ? [`excluded    ${list([...constraints.excluded])}`] : []),
    ...(crlUrls.length > 0 ? [`CRL         ${crlUrls.map(shownText).join(", ")}`] : []),
    `key         ${keyText(certificate.publicKey)}`,
    `serial      ${shownText(certificate.serialNumber)}`,
    `SHA-256     ${certificate.fingerprint256}`,
  ];
}

function listParts(text: string, now: number): Part[] {
  if (!text.includes("-----BEGIN X509 CRL-----")) return [];
  return revocationListsOf(text).map(({ size, number, issuerName, thisUpdate, nextUpdate }) => [
    `revocation list of ${quotedText(issuerName ?? "(no common name)")}`,
    `number      ${shownText(String(number ?? "none"))}`,
    `revoked     ${size}`,
    `valid       from ${dayText(new Date(thisUpdate))} ${listEnd(nextUpdate, now)}`,
  ]);
}

function listEnd(nextUpdate: number | undefined, now: number): string {
  if (nextUpdate === undefined) return "without an end";
  return `${nextUpdate <= now ? "ended on" : "until"} ${dayText(new Date(nextUpdate))}`;
}

function keyParts(text: string, mode: number): Part[] {
  const who = (mode & 0o077) === 0 ? "" : `, readable by others (mode ${mode.toString(8).padStart(4, "0")})`;
  if (isEncryptedKey(text)) return [[`private key, encrypted${who}`]];
  if (/-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.test(text)) {
    return [[`private key, not encrypted${who}`, `key         ${keyText(readKey(() => createPrivateKey(text)))}`]];
  }
  if (!text.includes("-----BEGIN PUBLIC KEY-----")) return [];
  return [["public key", `key         ${keyText(readKey(() => createPublicKey(text)))}`]];
}

function readKey(read: () => KeyObject): KeyObject {
  try {
    return read();
  } catch (cause) {
    throw new DomainError("invalid", "a key that cannot be read", { cause });
  }
}

function keyText({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject): string {
  if (type === "rsa") return `RSA ${details.modulusLength}`;
  if (type === "ec") return `ECDSA ${details.namedCurve}`;
  return type === "ed25519" ? "Ed25519" : (type ?? "unknown");
}
