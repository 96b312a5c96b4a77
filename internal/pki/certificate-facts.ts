import type { X509Certificate } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import { type DerValue, readDer } from "./der/der.ts";
import { decodeGeneralName, type GeneralName } from "./der/general-names.ts";
import { dottedOf, OID } from "./der/object-ids.ts";

/** Parts of a certificate that Node does not expose, or exposes only as text. */
export interface CertificateFacts {
  /** Encoded name; two names are the same if their bytes are equal. */
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly commonName: string | undefined;
  /** Object identifier of the algorithm that signed the certificate. */
  readonly signatureAlgorithm: string;
  readonly isCa: boolean;
  /** The most CAs allowed between this one and a leaf; undefined: unlimited. */
  readonly pathLength: number | undefined;
  /** Bits of the extension's first byte, bit 0 being the highest; undefined without the extension. */
  readonly keyUsage: number | undefined;
  readonly extendedKeyUsage: readonly string[] | undefined;
  readonly names: readonly GeneralName[];
  readonly constraints: Subtrees | undefined;
  readonly subjectKeyId: Buffer | undefined;
  readonly authorityKeyId: Buffer | undefined;
  readonly crlUrls: readonly string[];
  /** Critical extensions that are not read here; a certificate with one must be refused. */
  readonly unknownCritical: readonly string[];
}

/** Name constraints as encoded; a foreign CA may constrain any kind of name. */
export interface Subtrees {
  readonly permitted: readonly GeneralName[];
  readonly excluded: readonly GeneralName[];
}

const facts = new WeakMap<X509Certificate, CertificateFacts>();

/** @throws DomainError `invalid` when an extension is not encoded as RFC 5280 says, or appears twice */
export function factsOf(certificate: X509Certificate): CertificateFacts {
  const known = facts.get(certificate) ?? readFacts(certificate.raw);
  facts.set(certificate, known);
  return known;
}

interface Extension {
  readonly critical: boolean;
  /** Undefined for an extension that is not in `READ`. */
  readonly value: DerValue | undefined;
}

function readFacts(raw: Uint8Array): CertificateFacts {
  const [body] = children(readDer(raw)[0]);
  const fields = children(body);
  if (fields[0]?.tag === 0xa0) fields.shift();
  const [, algorithm, issuer, , subject] = fields;
  const found = readExtensions(fields.find(({ tag }) => tag === 0xa3));
  const of = (id: string) => found.get(id)?.value;
  const constraints = of(OID.basicConstraints);
  const [isCa, pathLength] = constraints ? readBasicConstraints(constraints) : [false, undefined];
  const subtrees = of(OID.nameConstraints);
  return {
    subject: Buffer.from(subject?.whole ?? []),
    issuer: Buffer.from(issuer?.whole ?? []),
    commonName: commonNameOf(subject),
    signatureAlgorithm: dottedOf(children(algorithm)[0]?.content ?? new Uint8Array()),
    isCa,
    pathLength,
    keyUsage: readKeyUsage(of(OID.keyUsage)),
    extendedKeyUsage: of(OID.extendedKeyUsage) && children(of(OID.extendedKeyUsage)).map((id) => dottedOf(id.content)),
    names: children(of(OID.subjectAltName)).map(decodeGeneralName),
    constraints: subtrees && readSubtrees(subtrees),
    subjectKeyId: bytesOf(of(OID.subjectKeyId)),
    authorityKeyId: bytesOf(children(of(OID.authorityKeyId)).find(({ tag }) => tag === 0x80)),
    crlUrls: readCrlUrls(of(OID.crlDistributionPoints)),
    unknownCritical: [...found].flatMap(([id, { critical }]) => (critical && !isRead(id) ? [id] : [])),
  };
}

/** The extensions that are read here; a certificate may mark any of them critical. */
const READ = [
  "basicConstraints",
  "keyUsage",
  "extendedKeyUsage",
  "subjectAltName",
  "nameConstraints",
  "crlDistributionPoints",
  "subjectKeyId",
  "authorityKeyId",
] as const;
/** Looks each id up by name, without a Set of ids, so that a bundler can omit them where no certificate is read. */
const isRead = (id: string): boolean => READ.some((name) => OID[name] === id);

function readExtensions(wrapper: DerValue | undefined): Map<string, Extension> {
  const found = new Map<string, Extension>();
  for (const one of children(children(wrapper)[0])) {
    const parts = children(one);
    const id = dottedOf(parts[0]?.content ?? new Uint8Array());
    if (found.has(id)) throw malformed();
    const critical = parts[1]?.tag === 0x01 && parts[1].content[0] !== 0;
    found.set(id, { critical, value: isRead(id) ? onlyValue(parts.at(-1)) : undefined });
  }
  return found;
}

function onlyValue(wrapped: DerValue | undefined): DerValue {
  const [value, ...rest] = children(wrapped);
  if (value === undefined || rest.length > 0) throw malformed();
  return value;
}

function readBasicConstraints(value: DerValue): [isCa: boolean, pathLength: number | undefined] {
  const parts = children(value);
  const isCa = parts[0]?.tag === 0x01 && parts[0].content[0] !== 0;
  const length = parts.find(({ tag }) => tag === 0x02)?.content;
  if (length === undefined) return [isCa, undefined];
  if (length.length > 4 || (length[0] ?? 0x80) >= 0x80) throw malformed();
  return [isCa, length.reduce((sum, digit) => sum * 256 + digit, 0)];
}

function readKeyUsage(value: DerValue | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (value.tag !== 0x03 || value.content.length < 2) throw malformed();
  return value.content[1];
}

function readSubtrees(value: DerValue): Subtrees {
  const parts = children(value);
  const names = (tag: number) =>
    children(parts.find((part) => part.tag === tag)).map((subtree) => {
      const [base] = children(subtree);
      if (base === undefined) throw malformed();
      return decodeGeneralName(base);
    });
  return { permitted: names(0xa0), excluded: names(0xa1) };
}

function readCrlUrls(value: DerValue | undefined): string[] {
  const points = children(value).flatMap((point) => children(point).filter(({ tag }) => tag === 0xa0));
  const names = points.flatMap((point) => children(children(point).find(({ tag }) => tag === 0xa0)));
  return names.map(decodeGeneralName).flatMap((name) => (name.type === "uri" ? [name.value] : []));
}

/**
 * The last common name in an encoded name, which is the most specific.
 * @throws DomainError `invalid` for a name that is cut off
 */
export function commonNameOf(name: DerValue | undefined): string | undefined {
  const attributes = children(name).flatMap(children);
  const pairs = attributes.map(children);
  const found = pairs.findLast(([id]) => id !== undefined && dottedOf(id.content) === OID.commonName)?.[1];
  if (found === undefined) return undefined;
  const bytes = Buffer.from(found.content);
  if (found.tag === 0x1e && bytes.length % 2 === 1) throw new DomainError("invalid", "a name that is cut off");
  return found.tag === 0x1e
    ? bytes.swap16().toString("utf16le")
    : bytes.toString(found.tag === 0x0c ? "utf8" : "latin1");
}

function bytesOf(value: DerValue | undefined): Buffer | undefined {
  return value && Buffer.from(value.content);
}

function children(value: DerValue | undefined): DerValue[] {
  return value === undefined ? [] : readDer(value.content);
}

function malformed(): DomainError {
  return new DomainError("invalid", "a certificate with a malformed extension");
}
