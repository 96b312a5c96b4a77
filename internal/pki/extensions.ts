import { createHash, type KeyObject } from "node:crypto";
import { readDer } from "./der/der.ts";
import { der, integer, objectId, octetString, sequence } from "./der/der-writer.ts";
import { encodeGeneralName, type GeneralName } from "./der/general-names.ts";
import { OID } from "./der/object-ids.ts";

type EncodableName = Exclude<GeneralName, { type: "other" }>;

/** Names that a CA may certify. A kind of name with no entry in either list is unconstrained. */
export interface NameSubtrees {
  readonly permitted: readonly EncodableName[];
  readonly excluded: readonly EncodableName[];
}

/** Bit numbers of the key usages (RFC 5280 §4.2.1.3). */
export const KEY_USAGE = { digitalSignature: 0, keyCertSign: 5, crlSign: 6 } as const;

const TRUE = der(0x01, Buffer.from([0xff]));

/** An encoded extension. `critical`: a verifier that does not know it must refuse the certificate. */
export function extension(id: string, value: Uint8Array, critical: boolean): Buffer {
  return sequence(objectId(id), ...(critical ? [TRUE] : []), octetString(value));
}

export function caConstraints(pathLength: number): Buffer {
  return extension(OID.basicConstraints, sequence(TRUE, integer(pathLength)), true);
}

export function leafConstraints(): Buffer {
  return extension(OID.basicConstraints, sequence(), true);
}

export function keyUsage(...usages: readonly (keyof typeof KEY_USAGE)[]): Buffer {
  const bits = usages.reduce((sum, usage) => sum | (0x80 >> KEY_USAGE[usage]), 0);
  const unused = Math.max(0, 31 - Math.clz32(bits & -bits));
  return extension(OID.keyUsage, der(0x03, Buffer.from([unused, bits])), true);
}

export function extendedKeyUsage(...usages: readonly ("serverAuth" | "clientAuth")[]): Buffer {
  return extension(OID.extendedKeyUsage, sequence(...usages.map((usage) => objectId(OID[usage]))), false);
}

export function subjectAltName(names: readonly EncodableName[]): Buffer {
  return extension(OID.subjectAltName, sequence(...names.map(encodeGeneralName)), false);
}

export function subjectKeyId(id: Uint8Array): Buffer {
  return extension(OID.subjectKeyId, octetString(id), false);
}

export function authorityKeyId(id: Uint8Array): Buffer {
  return extension(OID.authorityKeyId, sequence(der(0x80, id)), false);
}

/** URLs of the issuer's revocation list. */
export function crlDistributionPoints(urls: readonly string[]): Buffer {
  const points = urls.map((value) => sequence(der(0xa0, der(0xa0, encodeGeneralName({ type: "uri", value })))));
  return extension(OID.crlDistributionPoints, sequence(...points), false);
}

export function nameConstraints({ permitted, excluded }: NameSubtrees): Buffer {
  const subtrees = (tag: number, names: readonly EncodableName[]) =>
    names.length === 0 ? [] : [der(tag, ...names.map((name) => sequence(encodeGeneralName(name))))];
  return extension(OID.nameConstraints, sequence(...subtrees(0xa0, permitted), ...subtrees(0xa1, excluded)), true);
}

/** The identifier of a key in certificates issued here: the first 20 bytes of the SHA-256 of the key (RFC 7093 §2). */
export function keyIdOf(publicKey: KeyObject): Buffer {
  const [spki] = readDer(publicKey.export({ type: "spki", format: "der" }));
  const [, bits] = readDer(spki?.content ?? new Uint8Array());
  const key = (bits?.content ?? new Uint8Array()).subarray(1);
  return createHash("sha256").update(key).digest().subarray(0, 20);
}
