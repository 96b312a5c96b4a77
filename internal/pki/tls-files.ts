import { createHash, createPrivateKey, type KeyObject, type X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { DomainError, errorText } from "../base/errors.ts";
import { explainPem, type PemKind } from "./explain-pem.ts";
import { certificatesOf, pemBlocks } from "./pem.ts";
import { type RevocationList, revocationListsOf } from "./revocation-list.ts";
import { type Standing, Trust, type TrustOptions } from "./trust.ts";

/** PEM texts of one side of a mutual TLS connection, as in the files of a TLS folder. */
export interface TlsFiles {
  /** Leaf first, then the chain (`tls.crt`). */
  readonly cert: string;
  readonly key: string;
  /** CAs to which the peer's certificate, and ours, must lead. */
  readonly ca: string;
  /** Revocation lists of those CAs, in one file. */
  readonly crl?: string | undefined;
  /** Revocation lists in several files, each with its name for errors. Every file must contain a list. */
  readonly crls?: readonly { readonly name: string; readonly text: string }[];
  /** Names of the files in errors. Default: `tls.crt`, `tls.key`, `ca.crt`, `crl.pem`. */
  readonly names?: TlsFileNames;
}

type TlsFileNames = Readonly<Record<TlsFileKind, string>>;

/** The file that is at fault; the field `file` of the error. */
export type TlsFileKind = "cert" | "key" | "ca" | "crl";

const USUAL_NAMES: TlsFileNames = { cert: "tls.crt", key: "tls.key", ca: "ca.crt", crl: "crl.pem" };

/** Files that match each other and can be used now. */
export interface CheckedTls {
  /** PEM texts written from the objects that were checked, so that OpenSSL reads no others; `crl` has all lists. */
  readonly files: Pick<TlsFiles, "cert" | "key" | "ca" | "crl">;
  readonly leaf: X509Certificate;
  readonly trust: Trust;
  /** The CAs above our own certificate, from its issuer up. */
  readonly issuers: readonly X509Certificate[];
  /** When the last of our certificate's chains expires, wall clock, ms. See `Trust.notAfter`. */
  readonly notAfter: number;
  /** When the first of the revocation lists is due to be replaced, wall clock, ms. */
  readonly listsDue?: number | undefined;
  /** The highest number of each issuer's revocation lists, by the SHA-256 of the issuer's public key. */
  readonly listNumbers: ReadonlyMap<string, bigint>;
}

/** Why files cannot be used; the field `reason` of the error. */
export type TlsFault =
  | "unreadable"
  | "mismatch"
  | "untrusted"
  | "expired"
  | "not-yet-valid"
  | "revoked"
  | "usage"
  | "crl"
  | "identity"
  | "unusable";

const USAGES = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2" } as const;
const USAGE_NAMES = { server: "serverAuth", client: "clientAuth" } as const;

/** True if the certificate names the usage explicitly. A certificate without usages is valid for neither side. */
export function isFor(certificate: X509Certificate, side: keyof typeof USAGES): boolean {
  // Node leaves `keyUsage` undefined if the certificate has none, although its type says otherwise.
  return ((certificate.keyUsage as string[] | undefined) ?? []).includes(USAGES[side]);
}

/**
 * Checks a set of files, in the order in which a person would look for a mistake.
 * @param now wall clock, ms
 * @throws DomainError `invalid`; its field `reason` is a TlsFault. Unless the reason is `unusable`, the error names the
 * file, and its field `file` is the TlsFileKind.
 */
export function checkTls(
  files: TlsFiles,
  side: "server" | "client",
  now: number,
  options: TrustOptions = {},
): CheckedTls {
  const names = files.names ?? USUAL_NAMES;
  const { leaf, chain, key, cas } = readOwnTls(files);
  const notCa = cas.find((ca) => !ca.ca);
  if (notCa) throw faultIn("ca", "untrusted", `${names.ca} contains a certificate that is not a CA's`);
  if (!isFor(leaf, side)) {
    throw faultIn("cert", "usage", `${names.cert} has the wrong usage: it does not name ${USAGE_NAMES[side]}`);
  }
  const signers = [...cas, ...chain];
  const lists = listFilesOf(files, names).flatMap(({ name, text }) =>
    checkLists(text, { ...names, crl: name }, signers, now),
  );
  const trust = new Trust(cas, lists, options);
  const standing = trust.standing(leaf, now, chain);
  if (standing !== "good") {
    throw faultIn("cert", standing === "no-list" ? "crl" : standing, `${names.cert} ${standingText(standing, names)}`);
  }
  const written = {
    cert: [leaf, ...chain].join(""),
    key: String(key.export({ type: "pkcs8", format: "pem" })),
    ca: cas.join(""),
    crl: lists.map(({ pem }) => pem).join("") || undefined,
  };
  usable(written);
  const due = lists.flatMap(({ nextUpdate }) => nextUpdate ?? []);
  const notAfter = trust.notAfter(leaf, chain);
  const listNumbers = numbersOf(lists, signers);
  const issuers = trust.chainOf(leaf, now, chain)?.slice(1) ?? [];
  return {
    files: written,
    leaf,
    trust,
    issuers,
    notAfter,
    listNumbers,
    listsDue: due.length > 0 ? Math.min(...due) : undefined,
  };
}

/**
 * Parses certificate, key and CAs, and checks that the key belongs to the certificate.
 * @throws DomainError `invalid` with the fields of `checkTls`, and with a hint if a command repairs the file
 */
function readOwnTls(files: TlsFiles) {
  const names = files.names ?? USUAL_NAMES;
  const [leaf, ...chain] = read(names, "cert", () => certificatesOf(files.cert), { text: files.cert });
  const key = read(names, "key", () => privateKeyOf(files.key), { text: files.key });
  if (!leaf.checkPrivateKey(key)) throw faultIn("key", "mismatch", `${names.key} is not the key of ${names.cert}`);
  const cas = read(names, "ca", () => certificatesOf(files.ca), { text: files.ca });
  return { leaf, chain, key, cas };
}

/**
 * Checks that a caller's own files can be read, that the key belongs to the certificate, and that OpenSSL accepts them.
 * Checks no dates, usages, chains or revocation lists. @throws DomainError `invalid`, with the fields of `checkTls`
 */
export function checkOwnTls(files: TlsFiles): void {
  readOwnTls(files);
  usable(files);
}

/**
 * Checks that no list is older than the one in use: an issuer numbers its lists upwards, so a lower number is an old
 * list that was put back and lacks later revocations.
 * @throws DomainError `invalid` with the reason `crl`
 */
export function checkListNumbers(next: CheckedTls, inUse: CheckedTls, name = USUAL_NAMES.crl): void {
  for (const [issuer, number] of next.listNumbers) {
    const known = inUse.listNumbers.get(issuer);
    if (known === undefined || number >= known) continue;
    throw faultIn("crl", "crl", `${name} contains list number ${number}, which is older than number ${known} in use`);
  }
}

function numbersOf(lists: readonly RevocationList[], issuers: readonly X509Certificate[]): ReadonlyMap<string, bigint> {
  const numbers = new Map<string, bigint>();
  for (const list of lists) {
    const issuer = issuers.find((one) => list.isSignedBy(one));
    if (list.number === undefined || issuer === undefined) continue;
    const key = createHash("sha256")
      .update(issuer.publicKey.export({ type: "spki", format: "der" }))
      .digest("hex");
    const known = numbers.get(key);
    if (known === undefined || list.number > known) numbers.set(key, list.number);
  }
  return numbers;
}

function standingText(standing: Exclude<Standing, "good">, names: TlsFileNames): string {
  switch (standing) {
    case "untrusted":
      return `does not lead to a CA in ${names.ca}`;
    case "expired":
      return "or a CA above it has expired";
    case "not-yet-valid":
      return "or a CA above it is not valid yet";
    case "revoked":
      return `is revoked by ${names.crl}`;
    case "no-list":
      return `was issued by a CA that must have a current list in ${names.crl}, but has none`;
  }
}

function checkLists(
  pem: string,
  names: TlsFileNames,
  issuers: readonly X509Certificate[],
  now: number,
): readonly RevocationList[] {
  const lists = read(names, "crl", () => revocationListsOf(pem), { reason: "crl", text: pem });
  for (const list of lists) {
    if (!issuers.some((issuer) => list.isSignedBy(issuer))) {
      throw faultIn("crl", "crl", `${names.crl} contains a list that no CA in ${names.ca} has signed`);
    }
    if (list.thisUpdate > now) throw faultIn("crl", "crl", `${names.crl} contains a list that is not valid yet`);
    if (list.nextUpdate !== undefined && list.nextUpdate <= now) {
      throw faultIn("crl", "crl", `${names.crl} contains a list that is out of date`);
    }
  }
  return lists;
}

function listFilesOf({ crl, crls = [] }: TlsFiles, names: TlsFileNames): NonNullable<TlsFiles["crls"]> {
  return crl === undefined ? crls : [{ name: names.crl, text: crl }, ...crls];
}

/** OpenSSL uses the first key of a file; a second one is a mistake that would go unnoticed. */
function privateKeyOf(pem: string): KeyObject {
  const count = PRIVATE_LABELS.flatMap((label) => pemBlocks(pem, label)).length;
  if (count > 1) throw new DomainError("invalid", "it contains more than one private key");
  return createPrivateKey(pem);
}

const PRIVATE_LABELS = ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"];

/** Reports now what OpenSSL would refuse at the first handshake, such as a weak key or signature. */
function usable({ cert, key, ca, names }: Pick<TlsFiles, "cert" | "key" | "ca" | "names">): void {
  try {
    createSecureContext({ cert, key, ca, minVersion: "TLSv1.3" });
  } catch (cause) {
    const named = names === undefined ? "" : `${names.cert} or ${names.key} `;
    throw tlsFault("unusable", `${named}cannot be used: ${errorText(cause)}`, cause);
  }
}

const PEM_KINDS: Readonly<Record<TlsFileKind, PemKind>> = {
  cert: "certificate",
  key: "key",
  ca: "certificate",
  crl: "list",
};

function read<T>(
  names: TlsFileNames,
  file: TlsFileKind,
  parse: () => T,
  { reason = "unreadable", text }: { readonly reason?: TlsFault; readonly text: string },
): T {
  try {
    return parse();
  } catch (cause) {
    const known = explainPem(text, PEM_KINDS[file], names[file]);
    if (known !== undefined) throw faultIn(file, reason, `${names[file]} ${known.why}`, cause, known.hint);
    const why = cause instanceof DomainError ? cause.message : "not a PEM file of this kind";
    throw faultIn(file, reason, `${names[file]} cannot be used: ${why}`, cause);
  }
}

/** An error for a set of files that cannot be used. */
export function tlsFault(reason: TlsFault, message: string, cause?: unknown): DomainError {
  return new DomainError("invalid", message, { fields: { reason }, cause });
}

/** Like `tlsFault`, for a fault in a single file. */
export function faultIn(
  file: TlsFileKind,
  reason: TlsFault,
  message: string,
  cause?: unknown,
  hint?: string,
): DomainError {
  return new DomainError("invalid", message, { fields: { reason, file, ...(hint && { hint }) }, cause });
}
