import { verify, type X509Certificate } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import { commonNameOf } from "./certificate-facts.ts";
import { type DerValue, readDer } from "./der/der.ts";
import { pemText } from "./der/der-writer.ts";
import { pemBlocks } from "./pem.ts";

const SEQUENCE = 0x30;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OBJECT_ID = 0x06;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const EXTENSIONS = 0xa0;

/** Hashes by the object identifier (hex) of the signature algorithm; null: the key determines the hash. */
const HASHES: ReadonlyMap<string, string | null> = new Map([
  ["2a8648ce3d040302", "sha256"], // ECDSA
  ["2a8648ce3d040303", "sha384"],
  ["2a8648ce3d040304", "sha512"],
  ["2a864886f70d01010b", "sha256"], // RSA
  ["2a864886f70d01010c", "sha384"],
  ["2a864886f70d01010d", "sha512"],
  ["2b6570", null], // Ed25519
]);

/** Object identifier (hex) of the extension CRL number, 2.5.29.20. */
const CRL_NUMBER = "551d14";

/**
 * Tag of the flag that marks an extension critical. No critical extension is supported: it changes what a list means.
 */
const CRITICAL = 0x01;

/** A complete certificate revocation list of one issuer (RFC 5280 §5). */
export class RevocationList {
  /** Wall clock, ms. */
  readonly thisUpdate: number;
  /** Wall clock, ms; undefined: the issuer announces no next list. */
  readonly nextUpdate: number | undefined;
  /** The common name of the issuer as the list states it; not verified. */
  readonly issuerName: string | undefined;
  /** Number of the list, rising with each list of the issuer; undefined: not numbered. */
  readonly number: bigint | undefined;
  readonly #serials: ReadonlySet<string>;
  readonly #signed: Uint8Array;
  readonly #hash: string | null;
  readonly #signature: Uint8Array;
  /** The encoded list, complete. */
  readonly der: Uint8Array;

  /**
   * @throws DomainError `invalid` for bytes that are not a list, or a list of an unsupported kind (delta, indirect,
   * SHA-1)
   */
  constructor(der: Uint8Array) {
    const [list, trailing] = readDer(der);
    const [body, algorithm, signature] = list?.tag === SEQUENCE ? readDer(list.content) : [];
    if (trailing || body?.tag !== SEQUENCE || algorithm === undefined || signature?.tag !== BIT_STRING) throw noList();
    if (signature.content[0] !== 0) throw noList(); // a signature has no unused bits
    const fields = readBody(body);
    this.thisUpdate = fields.thisUpdate;
    this.nextUpdate = fields.nextUpdate;
    this.issuerName = fields.issuerName;
    this.number = fields.number;
    this.#serials = fields.serials;
    this.der = der;
    this.#signed = body.whole;
    this.#hash = hashOf(algorithm);
    this.#signature = signature.content.subarray(1);
  }

  /** PEM of exactly the list that was read. */
  get pem(): string {
    return pemText("X509 CRL", this.der);
  }

  /** The number of revoked certificates. */
  get size(): number {
    return this.#serials.size;
  }

  names(certificate: X509Certificate): boolean {
    return this.#serials.has(plainSerial(certificate.serialNumber));
  }

  isSignedBy(issuer: X509Certificate): boolean {
    try {
      return verify(this.#hash, this.#signed, issuer.publicKey, this.#signature);
    } catch {
      return false; // a key of another kind
    }
  }
}

/**
 * The lists of one PEM file. Read several files one by one: in a joined text, a file without a list would go unnoticed.
 * @throws DomainError `invalid` if there is none, or one cannot be read
 */
export function revocationListsOf(pem: string): RevocationList[] {
  const lists = pemBlocks(pem, "X509 CRL").map((der) => new RevocationList(der));
  if (lists.length === 0) throw new DomainError("invalid", "no revocation list in it");
  const around = pem.split("-----END X509 CRL-----").map((text) => text.split(DESCRIPTION).length - 1);
  if (around.some((count) => count > 1) || around.at(-1) !== 0) {
    throw new DomainError("invalid", "it describes a revocation list that is not in it");
  }
  return lists;
}

/** The line with which `openssl crl -text` begins the description above a list. */
const DESCRIPTION = /^\s*Certificate Revocation List \(CRL\):/m;

function readBody(body: DerValue) {
  const fields = readDer(body.content);
  if (fields[0]?.tag === INTEGER) fields.shift();
  const [algorithm, issuer, thisUpdate] = fields.splice(0, 3);
  if (algorithm?.tag !== SEQUENCE || issuer?.tag !== SEQUENCE || thisUpdate === undefined) throw noList();
  const hasNext = fields[0]?.tag === UTC_TIME || fields[0]?.tag === GENERALIZED_TIME;
  const next = hasNext ? fields.shift() : undefined;
  const entries = fields[0]?.tag === SEQUENCE ? readDer(fields.shift()?.content ?? new Uint8Array()) : [];
  const [extensions, ...rest] = fields;
  if (rest.length > 0) throw noList();
  if (extensions) refuseCritical(extensions);
  return {
    issuerName: commonNameOf(issuer),
    thisUpdate: timeOf(thisUpdate),
    nextUpdate: next && timeOf(next),
    number: extensions && numberOf(extensions),
    serials: new Set(entries.map(serialOf)),
  };
}

function serialOf(entry: DerValue): string {
  const [serial, , extensions] = entry.tag === SEQUENCE ? readDer(entry.content) : [];
  if (serial?.tag !== INTEGER || serial.content.length === 0) throw noList();
  if (extensions) refuseCriticalIn(extensions);
  return plainSerial(Buffer.from(serial.content).toString("hex"));
}

/** A serial in the same form whether from Node or from DER: upper-case hex, no leading zeros. */
function plainSerial(hex: string): string {
  return hex.toUpperCase().replace(/^0+(?=.)/, "");
}

function refuseCritical(extensions: DerValue): void {
  const [inner] = extensions.tag === EXTENSIONS ? readDer(extensions.content) : [];
  if (inner === undefined) throw noList();
  refuseCriticalIn(inner);
}

function refuseCriticalIn(extensions: DerValue): void {
  if (extensions.tag !== SEQUENCE) throw noList();
  for (const extension of readDer(extensions.content)) {
    const [, flag] = readDer(extension.content);
    if (flag?.tag === CRITICAL && flag.content[0] !== 0) {
      throw new DomainError("invalid", "an unsupported kind of revocation list (delta or indirect)");
    }
  }
}

function numberOf(extensions: DerValue): bigint | undefined {
  const [inner] = readDer(extensions.content);
  for (const extension of inner === undefined ? [] : readDer(inner.content)) {
    const [id, value] = readDer(extension.content);
    if (id === undefined || value === undefined || Buffer.from(id.content).toString("hex") !== CRL_NUMBER) continue;
    const [number] = readDer(value.content);
    const hex = Buffer.from(number?.content ?? []).toString("hex");
    if (number?.tag !== INTEGER || hex === "") throw noList();
    return BigInt(`0x${hex}`);
  }
  return undefined;
}

function hashOf(algorithm: DerValue): string | null {
  const [id] = algorithm.tag === SEQUENCE ? readDer(algorithm.content) : [];
  const hash = id?.tag === OBJECT_ID ? HASHES.get(Buffer.from(id.content).toString("hex")) : undefined;
  if (hash === undefined) throw new DomainError("invalid", "a revocation list with an unknown signature algorithm");
  return hash;
}

function timeOf({ tag, content }: DerValue): number {
  const text = Buffer.from(content).toString("latin1");
  const digits = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(tag === UTC_TIME ? centuryOf(text) + text : text);
  const ms = digits === null ? Number.NaN : Date.parse(isoOf(digits));
  if (Number.isNaN(ms)) throw noList();
  return ms;
}

/** Two-digit years stand for 1950 to 2049. */
function centuryOf(text: string): string {
  return Number(text.slice(0, 2)) < 50 ? "20" : "19";
}

function isoOf([, year, month, day, hour, minute, second]: RegExpExecArray): string {
  return `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
}

function noList(): DomainError {
  return new DomainError("invalid", "not a revocation list");
}
