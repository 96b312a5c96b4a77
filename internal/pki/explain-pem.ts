import { DomainError } from "../base/errors.ts";

/** The kind of object that a file should contain. */
export type PemKind = "certificate" | "key" | "public-key" | "list";

export interface PemFault {
  /** The predicate of a sentence whose subject is the file's name. */
  readonly why: string;
  /** How to repair the file; absent if no command does. */
  readonly hint?: string;
}

interface Meant {
  readonly name: string;
  /** The openssl subcommand that reads this kind. */
  readonly command: string;
}

const MEANT: Readonly<Record<PemKind, Meant>> = {
  certificate: { name: "certificate", command: "x509" },
  key: { name: "private key", command: "pkey" },
  "public-key": { name: "public key", command: "pkey -pubin" },
  list: { name: "revocation list", command: "crl" },
};

const FOUND: Readonly<Record<PemKind, RegExp>> = {
  key: /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/,
  "public-key": /-----BEGIN PUBLIC KEY-----/,
  certificate: /-----BEGIN CERTIFICATE-----/,
  list: /-----BEGIN X509 CRL-----/,
};
const KINDS: readonly PemKind[] = ["key", "public-key", "certificate", "list"];

/**
 * Explains why the text of a file does not contain an object of `kind`, and how to repair it. Undefined if the text
 * shows no obvious fault. `path` is for the command in the hint.
 */
export function explainPem(text: string, kind: PemKind, path: string): PemFault | undefined {
  if (text.trim() === "") return { why: "is empty" };
  const encrypted = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text);
  if (kind === "key" && encrypted) {
    const hint = `remove the passphrase: (umask 077; openssl pkey -in ${path} -out NEW.key)`;
    return { why: "is encrypted with a passphrase", hint };
  }
  const found = encrypted ? "key" : KINDS.find((one) => FOUND[one].test(text));
  if (found !== undefined && !FOUND[kind].test(text)) return another(kind, found, path);
  if (text.includes("-----BEGIN ")) return undefined;
  const { name, command } = MEANT[kind];
  if (text.startsWith("0")) {
    const isOfLeaf = kind === "key" || kind === "certificate";
    const pkcs12 = isOfLeaf ? `; of PKCS #12: openssl pkcs12 -in ${path} -nodes` : "";
    const hint = `convert it: openssl ${command} -inform DER -in ${path} -out NEW.pem${pkcs12}`;
    return { why: "is in a binary form (DER), not in PEM", hint };
  }
  return { why: `holds no ${name} in PEM` };
}

/** A file of the wrong kind. */
function another(kind: PemKind, found: PemKind, path: string): PemFault {
  const why = `holds a ${MEANT[found].name}, not a ${MEANT[kind].name}`;
  const pair = [kind, found].toSorted().join();
  if (pair === "certificate,key") return { why, hint: "are the certificate and the key swapped?" };
  if (kind !== "public-key") return { why };
  if (found === "key") return { why, hint: `give the public one: openssl pkey -in ${path} -pubout -out NEW.pub` };
  if (found === "certificate") return { why, hint: `extract the key: openssl x509 -in ${path} -noout -pubkey` };
  return { why };
}

/**
 * Parses the text of the file `path` with `parse`.
 * @throws DomainError `invalid` that names the file and says what is wrong, with a hint if a command repairs it
 */
export function readPem<T>(text: string, kind: PemKind, path: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (cause) {
    const { why, hint } = explainPem(text, kind, path) ?? { why: otherwise(kind, cause) };
    throw new DomainError("invalid", `${path} ${why}`, { fields: { ...(hint !== undefined && { hint }) }, cause });
  }
}

function otherwise(kind: PemKind, cause: unknown): string {
  const why = cause instanceof DomainError ? `: ${cause.message}` : "";
  return `has no readable ${MEANT[kind].name} (PEM)${why}`;
}
