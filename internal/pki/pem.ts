import { X509Certificate } from "node:crypto";
import { DomainError } from "../base/errors.ts";

const BOUNDARY = /^-----(BEGIN|END) ([A-Z0-9][A-Z0-9 ]*)-----$/;
/** A boundary that is damaged, or cut off at any character. */
const TORN_BOUNDARY = /^-----|^-{1,4}$|^-{1,4}(?:BEGIN|END) /;
/** Text has none of these bytes; DER has some of them near its start. */
const BINARY = /[\x00-\x08\x0e-\x1f\x7f]/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Labels that a file may contain. Any other is misspelt, or of an unsupported form. */
const LABELS: ReadonlySet<string> = new Set([
  ...["CERTIFICATE", "CERTIFICATE REQUEST", "X509 CRL", "PUBLIC KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY"],
  ...["EC PRIVATE KEY", "RSA PRIVATE KEY", "EC PARAMETERS", "DH PARAMETERS"],
]);

/**
 * Decodes the blocks `-----BEGIN label-----` of a text, in order. Skips blocks of other kinds and text between blocks.
 * A single block that is cut off, damaged or of an unknown label makes the whole text invalid: its content would
 * otherwise be missing without notice.
 * @throws DomainError `invalid` that says which line is wrong
 */
export function pemBlocks(text: string, label: string): Buffer[] {
  if (BINARY.test(text)) throw new DomainError("invalid", "it contains binary data (DER); PEM is needed");
  const found: Buffer[] = [];
  let open: { readonly label: string; readonly line: number; readonly content: string[] } | undefined;
  for (const [i, raw] of text.split(/\r\n|\n|\r/).entries()) {
    const line = raw.trim();
    const [, edge, name = ""] = BOUNDARY.exec(line) ?? [];
    if (edge === undefined && TORN_BOUNDARY.test(line)) throw torn(i, "is a boundary that is cut off or damaged");
    if (edge === "BEGIN") {
      if (open !== undefined) throw torn(open.line, `begins a ${open.label} that has no end`);
      if (!LABELS.has(name)) throw torn(i, `begins a ${JSON.stringify(name)}, which is not supported`);
      open = { label: name, line: i, content: [] };
    } else if (edge === "END") {
      if (open?.label !== name) throw torn(i, `ends a ${name} that has no beginning`);
      if (name === label) found.push(decoded(open));
      open = undefined;
    } else open?.content.push(line);
  }
  if (open !== undefined) throw torn(open.line, `begins a ${open.label} that has no end`);
  return found;
}

function decoded({ line, label, content }: { line: number; label: string; content: readonly string[] }): Buffer {
  const base64 = content.join("").replaceAll(/\s/g, "");
  if (!BASE64.test(base64)) throw torn(line, `begins a ${label} that is damaged`);
  return Buffer.from(base64, "base64");
}

function torn(index: number, what: string): DomainError {
  return new DomainError("invalid", `line ${index + 1} ${what}`);
}

/**
 * The first certificate of a PEM text, whatever follows it. @throws DomainError `invalid` if it is missing or
 * unreadable
 */
export function firstCertificateOf(pem: string): X509Certificate {
  const end = "-----END CERTIFICATE-----";
  const behind = pem.indexOf(end);
  return certificatesOf(behind === -1 ? pem : pem.slice(0, behind + end.length))[0];
}

/** The certificates of a PEM text. @throws DomainError `invalid` if there is none, or one cannot be read */
export function certificatesOf(pem: string): [X509Certificate, ...X509Certificate[]] {
  const [first, ...rest] = pemBlocks(pem, "CERTIFICATE").map((der) => {
    const certificate = certificateIn(der);
    if (certificate.raw.length !== der.length)
      throw new DomainError("invalid", "a certificate has more data behind it");
    return certificate;
  });
  if (first === undefined) throw new DomainError("invalid", "no certificate in it");
  return [first, ...rest];
}

function certificateIn(der: Buffer): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch (cause) {
    throw new DomainError("invalid", "a certificate cannot be read", { cause });
  }
}
